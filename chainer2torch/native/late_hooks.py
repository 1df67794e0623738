"""Chainer's optimizer hooks as objects, for ``add_hook`` of the optimizers in late_optimizers.py.

A hook for each parameter gets the optimizer and the parameter, which has a gradient then.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from chainer2torch.native.gradients import clip_gradients
from chainer2torch.native.late_optimizers import _Table


class WeightDecay:
    """Adds rate * parameter to the gradients. Source: chainer.optimizer_hooks.WeightDecay."""

    name, call_for_each_param = "WeightDecay", True

    def __init__(self, rate: float):
        self.rate = rate

    def __call__(self, rule: Any, param: Any) -> None:
        param.grad.add_(param.detach(), alpha=self.rate)


class Lasso:
    """Adds rate * sign(parameter) to the gradients. Source: chainer.optimizer_hooks.Lasso."""

    name, call_for_each_param = "Lasso", True

    def __init__(self, rate: float):
        self.rate = rate

    def __call__(self, rule: Any, param: Any) -> None:
        param.grad.add_(param.detach().sign(), alpha=self.rate)


class GradientClipping:
    """Scales all gradients so that their joint norm is at most the threshold.

    Source: chainer.optimizer_hooks.GradientClipping.
    """

    name = "GradientClipping"

    def __init__(self, threshold: float):
        self.threshold = threshold

    def __call__(self, optimizer: Any) -> None:
        clip_gradients(optimizer.target.parameters(), self.threshold)


class GradientHardClipping:
    """Cuts every gradient to [lower_bound, upper_bound]. Source: chainer.optimizer_hooks.GradientHardClipping."""

    name, call_for_each_param = "GradientHardClipping", True

    def __init__(self, lower_bound: float, upper_bound: float):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def __call__(self, rule: Any, param: Any) -> None:
        param.grad.clamp_(self.lower_bound, self.upper_bound)


class GradientLARS:
    """(grad + weight_decay * p) * |p| / (eps + |grad| + weight_decay * |p|), where |p| is above the threshold.

    Source: chainer.optimizer_hooks.GradientLARS.
    """

    name, call_for_each_param = "GradientLARS", True

    def __init__(self, threshold: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-9):
        self.threshold, self.weight_decay, self.eps = threshold, weight_decay, eps

    def __call__(self, rule: Any, param: Any) -> None:
        norm, grad_norm = param.detach().norm(), param.grad.norm()
        rate = norm / (self.eps + grad_norm + self.weight_decay * norm)
        param.grad.add_(param.detach(), alpha=self.weight_decay).mul_(torch.where(norm > self.threshold, rate, 1.0))


class GradientNoise:
    """Adds N(0, eta / (1 + t) ** 0.55) to the gradients. Source: chainer.optimizer_hooks.GradientNoise."""

    name, call_for_each_param = "GradientNoise", True

    def __init__(self, eta: float):
        self.eta = eta

    def __call__(self, rule: Any, param: Tensor) -> None:
        assert param.grad is not None
        param.grad.add_(torch.randn_like(param.grad), alpha=(self.eta / (1 + rule.t) ** 0.55) ** 0.5)


class HooksByName(metaclass=_Table):
    """Hooks as attributes: ``getattr(HooksByName, "WeightDecay")(0.1)``. Source: chainer.optimizer_hooks."""

    WeightDecay = WeightDecay  # where: chosen_WeightDecay
    Lasso = Lasso  # where: chosen_Lasso
    GradientClipping = GradientClipping  # where: chosen_GradientClipping
    GradientHardClipping = GradientHardClipping  # where: chosen_GradientHardClipping
    GradientLARS = GradientLARS  # where: chosen_GradientLARS
    GradientNoise = GradientNoise  # where: chosen_GradientNoise
