"""What Chainer's optimizer hooks do to gradients, as functions to call between ``backward()`` and ``step()``.

Not here, because plain torch is equal: ``WeightDecay`` as the last hook (``weight_decay=``), and
``GradientHardClipping(-c, c)`` (``nn.utils.clip_grad_value_``). See docs/native-helpers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy

from chainer2torch.native.optimizers import fill_missing_gradients


@torch.no_grad()
def clip_gradients(params: Iterable[Tensor], threshold: float) -> None:
    """Scales all gradients so that their joint norm is at most ``threshold``.

    For optimizers with hooks; nn.utils.clip_grad_norm_ divides by norm + 1e-6.
    Source: chainer.optimizer_hooks.GradientClipping.
    """
    grads = [param.grad for param in params if param.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    for grad in grads:
        grad.mul_((threshold / norm).clamp(max=1))


@torch.no_grad()
def clip_gradient_values(params: Iterable[Tensor], lower: float, upper: float) -> None:
    """Cuts every gradient to [lower, upper]; nn.utils.clip_grad_value_ knows only [-c, c].

    Source: chainer.optimizer_hooks.GradientHardClipping.
    """
    for param in params:
        if param.grad is not None:
            param.grad.clamp_(lower, upper)


@torch.no_grad()
def decay_weights(params: Iterable[Tensor], rate: float) -> None:
    """Adds rate * parameter to the gradients: for a decay before a clipping; after it, use ``weight_decay=``.

    One that is missing counts as zeros. Source: chainer.optimizer_hooks.WeightDecay.
    """
    for param in params:
        if param.grad is not None:
            param.grad.add_(param, alpha=rate)
        elif param.requires_grad and not is_lazy(param):
            param.grad = rate * param


@torch.no_grad()
def add_lasso(params: Iterable[Tensor], rate: float) -> None:
    """Adds rate * sign(parameter) to the gradients. Source: chainer.optimizer_hooks.Lasso."""
    for param in params:
        if param.grad is not None:
            param.grad.add_(param.sign(), alpha=rate)


@torch.no_grad()
def add_gradient_noise(params: Iterable[Tensor], eta: float, step: int) -> None:
    """Adds N(0, eta / (1 + step) ** 0.55) to the gradients; ``step`` counts updates from 0.

    Source: chainer.optimizer_hooks.GradientNoise.
    """
    for param in params:
        if param.grad is not None:
            param.grad.add_(torch.randn_like(param), alpha=(eta / (1 + step) ** 0.55) ** 0.5)


@torch.no_grad()
def scale_gradients_by_layer(
    params: Iterable[Tensor], threshold: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-9
) -> None:
    """Layer-wise adaptive rates: (grad + weight_decay * p) * |p| / (eps + |grad| + weight_decay * |p|).

    Parameters whose norm is not above ``threshold`` keep their scale. Source: chainer.optimizer_hooks.GradientLARS.
    """
    for param in params:
        if param.grad is not None:
            norm, grad_norm = param.norm(), param.grad.norm()
            rate = norm / (eps + grad_norm + weight_decay * norm)
            param.grad.add_(param, alpha=weight_decay).mul_(torch.where(norm > threshold, rate, 1.0))


def before_step(optimizer: torch.optim.Optimizer, change: Callable[..., None], *options: float) -> None:
    """Calls ``change(params, *options)`` before each step, where the loop that makes the steps is elsewhere.

    Source: chainer.Optimizer.add_hook.
    """

    def hook(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        change([p for group in optimizer.param_groups for p in group["params"]], *options)

    optimizer.register_step_pre_hook(hook)


def add_hook(optimizer: torch.optim.Optimizer, hook: Callable[..., Any]) -> None:
    """Calls ``hook`` with the optimizer before each step; if its ``call_for_each_param`` is true, for each parameter.

    It finds a gradient at every parameter. Source: chainer.Optimizer.add_hook.
    """

    @torch.no_grad()
    def call(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        fill_missing_gradients(optimizer)
        if getattr(hook, "call_for_each_param", False):
            for param in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
                hook(optimizer, param)
        else:
            hook(optimizer)

    optimizer.register_step_pre_hook(call)
