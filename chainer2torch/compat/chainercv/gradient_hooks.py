"""Hooks of optimizers that ChainerCV's training programs use."""

from __future__ import annotations

from typing import Any

import torch


class GradientScaling:
    """A hook that multiplies the gradient of each parameter by ``rate``. Source: chainercv.links.model.ssd."""

    name = "GradientScaling"
    call_for_each_param = True

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, rule: Any, param: torch.nn.Parameter) -> None:
        """Changes the gradient in place."""
        assert param.grad is not None
        param.grad.mul_(self.rate)
