"""Evaluation during the training, with Chainer's meaning: the unweighted mean over the batches, in test mode."""

from __future__ import annotations

import copy
import datetime
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from pytorch_pfn_extras import reporting
from pytorch_pfn_extras.training.extensions import util as ppe_util

from chainer2torch.compat.dataset.convert import _call_converter, concat_examples
from chainer2torch.compat.backend.devices import get_device, to_device
from chainer2torch.compat.training.extension_base import Extension
from chainer2torch.compat.variable.modes import eval_mode
from chainer2torch.compat.training.trainer import add_model_observers


class Evaluator(Extension):
    """Evaluates models on a data set and reports the means, as ``validation/main/loss`` and the like.

    Args:
        iterator: iterator over the data, without repetition, or a dict of iterators with ``'main'``.
        target: the model, or a dict of models with ``'main'``.
        converter: function ``(batch, device)`` that gives the arguments of the evaluation.
        device: where the data go.
        eval_hook: called with the evaluator before each evaluation.
        eval_func: what is evaluated; by default the main target. It reports values.
        progress_bar: show the progress on the terminal.
    Source: chainer.training.extensions.Evaluator.
    """

    trigger = (1, "epoch")
    default_name = "validation"
    priority = 300
    name = None

    def __init__(
        self,
        iterator: Any,
        target: Any,
        converter: Callable[..., Any] = concat_examples,
        device: Any = None,
        eval_hook: Callable[[Any], None] | None = None,
        eval_func: Callable[..., Any] | None = None,
        *,
        progress_bar: bool = False,
    ) -> None:
        self.device = None if device is None else get_device(device)
        self._iterators: Mapping[str, Any] = iterator if isinstance(iterator, Mapping) else {"main": iterator}
        self._targets: Mapping[str, Any] = {"main": target} if isinstance(target, torch.nn.Module) else target
        self.converter = converter
        self.eval_hook = eval_hook
        self.eval_func = eval_func
        self._progress_bar = progress_bar

    def get_iterator(self, name: str) -> Any:
        """The iterator of a name."""
        return self._iterators[name]

    def get_all_iterators(self) -> dict[str, Any]:
        """All iterators by name."""
        return dict(self._iterators)

    def get_target(self, name: str) -> Any:
        """The model of a name."""
        return self._targets[name]

    def get_all_targets(self) -> dict[str, Any]:
        """All models by name."""
        return dict(self._targets)

    def __call__(self, trainer: Any = None) -> Any:
        """Evaluates in test mode, reports the means to the current reporter and returns them."""
        reporter = reporting.Reporter()
        prefix = "" if self.name is None else self.name + "/"
        for name, target in self._targets.items():
            add_model_observers(reporter, prefix + name, target)
        with reporter, eval_mode(*self._modules()):
            result = self.evaluate()
        reporting.report(result)
        return result

    def _modules(self) -> Iterator[torch.nn.Module]:
        """Every model that the evaluation may call: Chainer's switch is one for all of them."""
        yield from self._targets.values()
        for value in (*vars(self).values(), getattr(self.eval_func, "__self__", None)):
            if isinstance(value, dict):
                value = list(value.values())
            values = value if isinstance(value, (list, tuple)) else [value]
            yield from (item for item in values if isinstance(item, torch.nn.Module))

    def evaluate(self) -> Any:
        """The means of what is reported while the data set is run through; subclasses may override it."""
        iterator = self._iterators["main"]
        eval_func = self.eval_func or self._targets["main"]
        if self.eval_hook:
            self.eval_hook(self)
        if hasattr(iterator, "reset"):
            iterator.reset()
        else:
            iterator = copy.copy(iterator)
        summary = reporting.DictSummary()
        bar = _IteratorProgressBar(iterator) if self._progress_bar else None
        for batch in iterator:
            observation: dict[str, Any] = {}
            with reporting.report_scope(observation):
                inputs = self._inputs(batch)
                with torch.no_grad():
                    if isinstance(inputs, tuple):
                        eval_func(*inputs)
                    elif isinstance(inputs, dict):
                        eval_func(**inputs)
                    else:
                        eval_func(inputs)
            summary.add(observation)
            if bar is not None:
                bar.update()
        if bar is not None:
            bar.close()
        return summary.compute_mean()

    def _inputs(self, batch: Any) -> Any:
        return to_device(self.device, _call_converter(self.converter, batch, self.device))

    def finalize(self, manager: Any = None) -> None:
        """Ends the iterators; a class with a constructor of its own, as those of version 1, may have none."""
        for iterator in vars(self).get("_iterators", {}).values():
            iterator.finalize()


class _IteratorProgressBar(ppe_util.ProgressBar):
    """The progress of an iterator over one epoch."""

    def __init__(self, iterator: Any) -> None:
        super().__init__(sys.stdout)
        self._iterator = iterator

    def get_lines(self) -> list[str]:
        position, rate = self._iterator.current_position, self._iterator.epoch_detail
        marks = "#" * int(rate * 50)
        size = getattr(self._iterator, "_epoch_size", None)
        speed, epoch_speed = self.update_speed(position, rate)
        left = datetime.timedelta(seconds=(1.0 - rate) / epoch_speed)
        return [
            f"validation [{marks}{'.' * (50 - len(marks))}] {rate:6.2%}\n",
            f"{position:10} / {size} iterations\n" if size else f"{position:10} iterations\n",
            f"{speed:10.5g} iters/sec. Estimated time to finish: {left}.\n",
        ]
