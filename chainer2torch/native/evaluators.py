"""Evaluation while a Trainer trains, over an iterator that gives lists of examples."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn as nn
from pytorch_pfn_extras import reporting
from pytorch_pfn_extras.training.extension import Extension

from chainer2torch.native.data import collate_to
from chainer2torch.native.devices import get_device
from chainer2torch.native.modes import evaluating
from chainer2torch.native.training import call_with, observers
from chainer2torch.native.updaters import converted


class Evaluator(Extension):
    """Reports the means over the batches of what a model reports: ``validation/main/loss``.

    Every model that is its target, or that it keeps otherwise, is in evaluation mode meanwhile.
    Source: chainer.training.extensions.Evaluator.
    """

    trigger = (1, "epoch")
    default_name = "validation"
    priority = 300

    def __init__(
        self,
        iterator: Any,
        target: Any,
        converter: Any = collate_to,
        device: Any = None,
        eval_hook: Any = None,
        eval_func: Any = None,
    ):
        self._iterators = iterator if isinstance(iterator, dict) else {"main": iterator}
        self._targets = target if isinstance(target, dict) else {"main": target}
        self.converter, self.eval_hook, self.eval_func = converter, eval_hook, eval_func
        self.device = None if device is None else get_device(device)

    def get_iterator(self, name: str) -> Any:
        return self._iterators[name]

    def get_all_iterators(self) -> dict[str, Any]:
        return dict(self._iterators)

    def get_target(self, name: str) -> Any:
        return self._targets[name]

    def get_all_targets(self) -> dict[str, Any]:
        return dict(self._targets)

    def __call__(self, trainer: Any = None) -> Any:
        reporter = reporting.Reporter()
        for name, target in self._targets.items():
            for path, part in observers(target, "/".join(filter(None, (self.name, name)))).items():
                reporter.add_observer(path, part)
        own = [*self._targets.values(), *vars(self).values(), getattr(self.eval_func, "__self__", None)]
        with reporter, evaluating(*(value for value in own if isinstance(value, nn.Module))):
            result = self.evaluate()
        reporting.report(result)
        return result

    def evaluate(self) -> Any:
        iterator, summary = self._iterators["main"], reporting.DictSummary()
        if self.eval_hook:
            self.eval_hook(self)
        if hasattr(iterator, "reset"):
            iterator.reset()
        else:
            iterator = copy.copy(iterator)
        for batch in iterator:
            observation: dict[str, Any] = {}
            with reporting.report_scope(observation), torch.no_grad():
                call_with(self.eval_func or self._targets["main"], converted(self.converter, batch, self.device))
            summary.add(observation)
        return summary.compute_mean()

    def finalize(self, trainer: Any = None) -> None:
        for iterator in self._iterators.values():
            iterator.finalize()
