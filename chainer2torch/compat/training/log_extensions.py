"""Reports of the training: pytorch-pfn-extras' extensions with Chainer's triggers and Chainer's snapshot layout."""

from __future__ import annotations

import gc
import json
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn as nn
from pytorch_pfn_extras import reporting
from pytorch_pfn_extras.training import extensions as ppe_extensions
from pytorch_pfn_extras.training.extensions import util as terminal

from chainer2torch.compat.training.extension_base import Extension
from chainer2torch.compat.links.link_slots import link_children
from chainer2torch.compat.optimizers.optimizer_state import chainer_named_arrays
from chainer2torch.compat.serializers.state_io import StateReader
from chainer2torch.compat.training.summary import serialize_summary
from chainer2torch.compat.training.triggers import get_trigger


class LogReport(ppe_extensions.LogReport):
    """Writes the means of observed values, with epoch, iteration and elapsed time, as JSON.

    Args:
        keys: values to take; None takes all.
        trigger: how often an entry is made.
        postprocess: function that may change an entry.
        filename: name of the file in the output directory, which may have fields of an entry (``'log_{epoch}'``).
        log_name: Chainer's older name of ``filename``; ``log_name=None`` writes no file.
    Source: chainer.training.extensions.LogReport.
    """

    def __init__(
        self,
        keys: Iterable[str] | None = None,
        trigger: Any = (1, "epoch"),
        postprocess: Callable[[Any], None] | None = None,
        filename: str | None = None,
        *,
        log_name: str | None = "log",
    ) -> None:
        name = log_name if filename is None else filename
        # "json" whatever the ending is; nothing is written through a writer that does nothing
        super().__init__(
            keys,
            get_trigger(trigger),
            postprocess,
            name or "log",
            format="json",
            writer=None if name is not None else _NoWriter(),
        )

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the entries and the running means."""
        self._trigger.serialize(serializer["_trigger"])  # type: ignore[attr-defined]
        serialize_summary(serializer["_summary"], self._summary)
        log = serializer("_log", json.dumps(self._log_buffer._log))
        if isinstance(serializer, StateReader):
            self._log_buffer._log = json.loads(log)


class _NoWriter:
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def finalize(self) -> None:
        pass


class PrintReport(ppe_extensions.PrintReport):
    """Prints entries of a :class:`LogReport` as a table; after a resume, those before it too.

    Args:
        entries: the columns.
        log_report: name of the log report, or a log report of its own.
        out: stream.
    Source: chainer.training.extensions.PrintReport.
    """

    _printed = 0

    def initialize(self, manager: Any) -> None:
        """Does nothing: a log report of its own makes its first entry with the first call."""

    def __call__(self, manager: Any) -> None:
        """Prints the entries that were not printed yet."""
        if self._header:
            self._out.write(self._header)
            self._header = None
        log = (
            manager.get_extension(self._log_report)
            if isinstance(self._log_report, str)
            else self.get_log_report(manager)
        ).log
        for entry in log[self._printed :]:
            if os.name == "nt":
                terminal.erase_console(0, 0)
            else:
                self._out.write("\033[J")
            self._print(entry)
        self._printed = max(self._printed, len(log))

    def serialize(self, serializer: Any) -> None:
        """Stores or restores a log report of its own."""
        if isinstance(self._log_report, LogReport):
            self._log_report.serialize(serializer["_log_report"])


class PlotReport(ppe_extensions.PlotReport):
    """Plots means of observed values over epochs or iterations.

    Args:
        y_keys: the values. x_key: ``'iteration'`` or ``'epoch'``. trigger: how often.
        postprocess: function ``(figure, axes, summary)`` that may change the plot.
        filename: the file in the output directory, whose ending says the format. marker, grid: of the plot.
        file_name: Chainer's older name of ``filename``.
    Source: chainer.training.extensions.PlotReport.
    """

    def __init__(
        self,
        y_keys: Sequence[str] | str,
        x_key: str = "iteration",
        trigger: Any = (1, "epoch"),
        postprocess: Any = None,
        filename: str | None = None,
        marker: str = "x",
        grid: bool = True,
        *,
        file_name: str = "plot.png",
    ) -> None:
        super().__init__(
            y_keys,
            x_key,
            get_trigger(trigger),
            postprocess,
            filename or file_name,
            marker,
            grid,
            writer=_FigureWriter(),
        )

    def __call__(self, manager: Any) -> None:
        """Adds the values; draws when the trigger fires."""
        due = manager.is_before_training or None
        if due and not any(self._data.values()) and not any(key in manager.observation for key in self._y_keys):
            self._init_summary()  # nothing to draw yet
            return
        super().__call__(manager)

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the points."""
        data = serializer(f"_plot_{self._file_name}", json.dumps(self._data))
        if isinstance(serializer, StateReader):
            self._data = json.loads(data)


class _FigureWriter:
    """Saves a figure in the format that its file name says, under its name only when it is complete."""

    def __call__(self, filename: str, out_dir: str, target: Any, **kwargs: Any) -> None:
        figure, legend, pyplot = target
        path = os.path.join(out_dir, filename)
        root, ending = os.path.splitext(path)
        temporary = f"{root}.tmp{ending or '.png'}"
        figure.savefig(temporary, bbox_extra_artists=(legend,), bbox_inches="tight")
        os.replace(temporary, path if ending else path + ".png")
        pyplot.close(figure)

    def finalize(self) -> None:
        pass


class MicroAverage(ppe_extensions.MicroAverage):
    """Reports a ratio of sums over an interval. Source: chainer.training.extensions.MicroAverage."""

    def __init__(self, numerator_key: str, denominator_key: str, result_key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(numerator_key, denominator_key, result_key, get_trigger(trigger))

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the sums. Chainer's own reader refuses fractions here."""
        if isinstance(serializer, StateReader):
            self._numerator = serializer("_numerator", float(self._numerator))
            self._denominator = serializer("_denominator", float(self._denominator))
        else:
            serializer("_numerator", self._numerator)
            serializer("_denominator", self._denominator)


def _default_statistics() -> dict[str, Callable[[torch.Tensor], torch.Tensor]]:
    sigmas = (0.13, 2.28, 15.87, 50, 84.13, 97.72, 99.87)
    return {
        "mean": torch.mean,
        "std": lambda x: torch.std(x, correction=0),
        "min": torch.min,
        "max": torch.max,
        "zeros": lambda x: (x == 0).sum(),
        "percentile": lambda x: torch.quantile(x, torch.tensor(sigmas, dtype=x.dtype) / 100),
    }


def _name_of(link: nn.Module) -> str:
    """What Chainer calls a link: as the attribute of its parent does, or as its own ``name``, or ``None``.

    A module does not know its parents, so they are looked for among all modules that there are.
    """
    parents = [
        value
        for value in gc.get_objects()
        if issubclass(type(value), nn.Module)
        and any(child is link for child in value.__dict__.get("_modules", {}).values())
    ]
    names = {name for parent in parents for name, child in link_children(parent) if child is link}
    if len(names) > 1:
        warnings.warn(
            f"a {type(link).__name__} has several names, {', '.join(sorted(names))}: its statistics are "
            f"reported under {min(names)}, Chainer takes the name that was given last",
            stacklevel=3,
        )
    return min(names) if names else str(getattr(link, "name", None))


class ParameterStatistics(Extension):
    """Reports statistics of the parameters and gradients of modules.

    The keys begin with the name that a module has in its parent, ``None`` for a module without either.

    Args:
        links: a module, or several.
        statistics: functions of a flat tensor by name; ``'default'`` takes mean, std, min, max, zeros and percentiles.
        report_params, report_grads: of what.
        prefix: put before the names. trigger: when the means are reported.
        skip_nan_params: report nan instead of calling the functions on arrays with nan.
    Source: chainer.training.extensions.ParameterStatistics.
    """

    default_name = "parameter_statistics"
    priority = 300
    report_key_template = "{prefix}{link_name}{param_name}/{attr_name}/{function_name}"

    def __init__(
        self,
        links: Any,
        statistics: Any = "default",
        report_params: bool = True,
        report_grads: bool = True,
        prefix: str | None = None,
        trigger: Any = (1, "epoch"),
        skip_nan_params: bool = False,
    ) -> None:
        self._links = links if isinstance(links, (list, tuple)) else (links,)
        self._statistics = _default_statistics() if statistics == "default" else dict(statistics or {})
        self._attrs = ["data"] * report_params + ["grad"] * report_grads
        self._prefix = prefix
        self._trigger = get_trigger(trigger)
        self._summary = reporting.DictSummary()
        self._skip_nan_params = skip_nan_params
        self._names: list[str] | None = None

    def __call__(self, trainer: Any) -> None:
        """Adds the current statistics; reports the means when the trigger fires."""
        values: dict[str, Any] = {}
        if self._names is None:
            self._names = [_name_of(link) for link in self._links]
        for link, link_name in zip(self._links, self._names, strict=True):
            by_attribute = {attribute: dict(chainer_named_arrays(link, attribute)) for attribute in self._attrs}
            for key in next(iter(by_attribute.values()), {}):
                for attribute, arrays in by_attribute.items():
                    array = arrays[key]
                    for name, function in self._statistics.items():
                        skip = self._skip_nan_params and bool(array.isnan().any())
                        self._put(
                            values,
                            self.report_key_template.format(
                                prefix=self._prefix + "/" if self._prefix else "",
                                link_name=link_name,
                                param_name="/" + key,
                                attr_name=attribute,
                                function_name=name,
                            ),
                            float("nan") if skip else function(array),
                        )
        self._summary.add(values)
        if self._trigger(trainer):
            reporting.report(self._summary.compute_mean())
            self._summary = reporting.DictSummary()

    @staticmethod
    def _put(values: dict[str, Any], key: str, value: Any) -> None:
        if getattr(value, "ndim", 0):
            values.update((f"{key}/{i}", item) for i, item in enumerate(value))
        else:
            values[key] = value

    def register_statistics(self, name: str, function: Callable[[Any], Any]) -> None:
        """Adds a statistic."""
        self._statistics[name] = function
