"""Extensions of a training that pytorch-pfn-extras has, too, where it names or writes something otherwise."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch
import torch.nn as nn
from pytorch_pfn_extras.training import extensions

from chainer2torch.native.links import named_children, namedparams


def with_trigger(extension: Any, trigger: Any) -> Any:
    """An extension with its own trigger, which counts where ``extend`` gets none.

    Source: chainer.training.extensions.snapshot, whose argument it was in Chainer 1.
    """
    extension.trigger = trigger
    return extension


class LogReport(extensions.LogReport):
    """A log whose file may have its older name, ``log_name``; None writes none.

    Source: chainer.training.extensions.LogReport.
    """

    def __init__(
        self,
        keys: Any = None,
        trigger: Any = (1, "epoch"),
        postprocess: Any = None,
        filename: Any = None,
        *,
        log_name: Any = "log",
    ):
        name = log_name if filename is None else filename
        writer = None if name is not None else _NoWriter()
        super().__init__(keys, trigger, postprocess, name or "log", format="json", writer=writer)


class _NoWriter:
    def __call__(self, *args: Any, **options: Any) -> None:
        pass

    def finalize(self) -> None:
        pass


class FigureWriter:
    """Lets ``PlotReport(..., writer=FigureWriter())`` write the format that its file name says; without, it is a PNG.

    Source: chainer.training.extensions.PlotReport.
    """

    def __call__(self, filename: str, out_dir: str, target: Any, **options: Any) -> None:
        figure, legend, pyplot = target
        figure.savefig(os.path.join(out_dir, filename), bbox_extra_artists=(legend,), bbox_inches="tight")
        pyplot.close(figure)

    def finalize(self) -> None:
        pass


class PlotReport(extensions.PlotReport):
    """A plot in the format that its file name says. Source: chainer.training.extensions.PlotReport."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options, writer=FigureWriter())


class _NamedByParents:
    """The parameters of a module under Chainer's names, with that of the module in the one that holds it in front."""

    def __init__(self, module: nn.Module):
        self.module = module

    @cached_property
    def name(self) -> str:
        holders = [one for one in gc.get_objects() if issubclass(type(one), nn.Module) and "_modules" in vars(one)]
        names = {name for one in holders for name, child in named_children(one) if child is self.module}
        if len(names) > 1:
            raise ValueError(f"the module has several names: {', '.join(sorted(names))}; give the one that holds it")
        return names.pop() if names else str(getattr(self.module, "name", None))

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        return ((self.name + path, param) for path, param in namedparams(self.module))


class ParameterStatistics(extensions.ParameterStatistics):
    """Statistics of parameters and gradients under the names, and by the formulas, of Chainer.

    Source: chainer.training.extensions.ParameterStatistics.
    """

    default_statistics = {
        "mean": torch.mean,
        "std": lambda x: torch.std(x, correction=0),
        "min": torch.min,
        "max": torch.max,
        "zeros": lambda x: (x == 0).sum(),
        "percentile": lambda x: torch.quantile(x, x.new_tensor((0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)) / 100),
    }

    def __init__(self, links: Any, *args: Any, **options: Any):
        links = links if isinstance(links, (list, tuple)) else [links]
        super().__init__([_NamedByParents(link) for link in links], *args, **options)


class PrintReport(extensions.PrintReport):
    """Prints a table of a log report that may be its own, which makes no entry before it is called.

    Source: chainer.training.extensions.PrintReport.
    """

    def initialize(self, manager: Any) -> None:
        log_report: Any = self._log_report
        log_report = manager.get_extension(log_report) if isinstance(log_report, str) else log_report
        self.__log_looker = log_report._log_buffer.emit_new_looker()
