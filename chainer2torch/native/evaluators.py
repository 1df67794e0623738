"""Evaluation while a Trainer trains, over an iterator that gives lists of examples."""

from __future__ import annotations

import functools
from copy import copy as shallow_copy
from typing import Any

import torch
import torch.nn as nn
from pytorch_pfn_extras import reporting
from pytorch_pfn_extras.training import extensions

from chainer2torch.native.data import collate
from chainer2torch.native.devices import get_device
from chainer2torch.native.modes import evaluating, in_mode
from chainer2torch.native.training import call_with, observers
from chainer2torch.native.updaters import converted


class Evaluator(extensions.Evaluator):
    """pytorch-pfn-extras' evaluator, for lists of examples and a converter; it names values as Chainer does.

    Every model that is its target, or that it keeps otherwise, is in evaluation mode meanwhile.
    Source: chainer.training.extensions.Evaluator.
    """

    def __init__(
        self,
        iterator: Any,
        target: Any,
        converter: Any = None,
        device: Any = None,
        eval_hook: Any = None,  # where: eval_hook, eval_func, options_by_position
        eval_func: Any = None,  # where: eval_hook, eval_func, options_by_position
    ):
        iterators = iterator if isinstance(iterator, dict) else {"main": iterator}
        target = {"main": target} if isinstance(target, nn.Module) else target
        if isinstance(target, dict):  # what is neither is for a class below
            target = {path: m for name, t in target.items() for path, m in observers(t, name).items()}
        super().__init__(iterators, target)
        vars(self).pop("name", None)  # where: name
        self.eval_hook, self._eval_func = eval_hook, eval_func  # where: eval_hook, eval_func, options_by_position
        if eval_func is not None:  # where: .eval_func
            vars(self)["eval_func"] = eval_func
        if isinstance(device, int):  # where: device_numbers, !device_names
            device = torch.device("cuda", device) if device >= 0 else torch.device("cpu")
        if isinstance(device, (int, str)):  # where: device_names
            device = get_device(device)
        self.device = device
        self.converter = converter or collate  # where: evaluates, .converter

    def __call__(self, trainer: Any = None) -> Any:
        own = [*self._targets.values(), *vars(self).values()]
        own.append(getattr(self._eval_func, "__self__", None))  # where: eval_func, options_by_position
        with evaluating(*(value for value in own if isinstance(value, nn.Module))):
            return super().__call__(trainer)

    def evaluate(self) -> Any:  # where: evaluates
        iterator, summary = self._iterators["main"], reporting.DictSummary()
        if self.eval_hook:  # where: eval_hook, options_by_position
            self.eval_hook(self)
        if hasattr(iterator, "reset"):
            iterator.reset()
        else:
            iterator = shallow_copy(iterator)
        function: Any = self._targets["main"]
        function = self._eval_func or function  # where: eval_hook, eval_func, options_by_position
        function = vars(self).get("eval_func") or function  # where: .eval_func
        convert = self.converter
        convert = functools.partial(converted, convert)  # where: own_converters
        for batch in iterator:
            observation: dict[str, Any] = {}
            with reporting.report_scope(observation):
                call_with(function, convert(batch, self.device))
            summary.add(observation)
        return summary.compute_mean()


class ModeEvaluator(extensions.Evaluator):
    """pytorch-pfn-extras' evaluator, while which :func:`is_training` says no: for what asks and belongs to no module.

    A data set may, or a function that is kept. Source: chainer.training.extensions.Evaluator.
    """

    def __call__(self, trainer: Any = None) -> Any:
        with in_mode(False):
            return super().__call__(trainer)
