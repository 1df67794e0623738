"""The base of a program's own optimizers of version 1, which update each parameter in a method of their own."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parameter import is_lazy

from chainer2torch.native.devices import to_device
from chainer2torch.native.late_optimizers import LateOptimizer
from chainer2torch.native.optimizers import fill_missing_gradients


class OldGradientMethod(LateOptimizer):
    """The base of optimizers with ``update_one(param, state)``: a parameter, and a dictionary for each.

    ``init_state(param, state)`` fills the dictionary; its arrays become tensors on the parameter's device. Both may
    end in ``_cpu`` and ``_gpu``. Source: chainer.optimizer.GradientMethod of version 1.
    """

    def __new__(cls, *args: Any, **options: Any) -> Any:
        optimizer = super().__new__(cls)
        LateOptimizer.__init__(optimizer, defaults={})  # classes of that time do not call ``__init__``
        optimizer.register_step_pre_hook(fill_missing_gradients)
        return optimizer

    def __init__(self) -> None:
        """Does nothing, as in version 1."""

    def setup(self, model: Any) -> Any:
        super().setup(model)
        self.prepare()
        return self

    @torch.no_grad()
    def prepare(self) -> None:
        """Makes the states of parameters that have none yet."""
        for param in self.param_groups[0]["params"]:
            if param not in self.state and not is_lazy(param):
                state: dict[str, Any] = {}
                self.init_state(param, state)
                self.state[param] = to_device(param.device, state)

    def init_state(self, param: Any, state: dict[str, Any]) -> None:
        (self.init_state_gpu if param.is_cuda else self.init_state_cpu)(param, state)

    def init_state_cpu(self, param: Any, state: dict[str, Any]) -> None:
        """Of a class that needs no state."""

    init_state_gpu = init_state_cpu

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.prepare()
        for param in self.param_groups[0]["params"]:
            if param.grad is not None:
                self.update_one(param, self.state[param])

    def update_one(self, param: Any, state: dict[str, Any]) -> None:
        (self.update_one_gpu if param.is_cuda else self.update_one_cpu)(param, state)

    def update_one_cpu(self, param: Any, state: dict[str, Any]) -> None:
        raise NotImplementedError

    update_one_gpu = update_one_cpu
