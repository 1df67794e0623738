"""Chainer's optimizer hooks: functions on the gradients that run before each step, in the order they were added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class WeightDecay:
    """Adds ``rate * p`` to each gradient, of biases too. Source: chainer.optimizer_hooks.WeightDecay."""

    name = "WeightDecay"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, rule: Any, param: torch.Tensor) -> None:
        """Changes the gradient of one parameter."""
        if param.grad is not None:
            param.grad.add_(param.detach(), alpha=self._rate_of(param))

    def apply_to_all(self, optimizer: Any, params: list[torch.Tensor]) -> None:
        """Changes the gradients of all parameters at once."""
        decayed = [param for param in params if param.grad is not None]
        for rate in dict.fromkeys(map(self._rate_of, decayed)):
            some = [param for param in decayed if self._rate_of(param) == rate]
            grads = [param.grad for param in some if param.grad is not None]
            torch._foreach_add_(grads, [param.detach() for param in some], alpha=rate)

    def _rate_of(self, param: torch.Tensor) -> float:
        scale = param.__dict__.get("_loss_scale")  # of the last backward(), by which the update divides
        return self.rate if scale is None else self.rate * scale


class Lasso:
    """Adds ``rate * sign(p)`` to each gradient. Source: chainer.optimizer_hooks.Lasso."""

    name = "Lasso"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, rule: Any, param: torch.Tensor) -> None:
        """Changes the gradient of one parameter."""
        if param.grad is not None:
            param.grad.add_(param.detach().sign(), alpha=self.rate)


class GradientClipping:
    """Scales all gradients so that their common norm is at most ``threshold``.

    Unlike ``torch.nn.utils.clip_grad_norm_`` nothing is added to the norm. Source:
    chainer.optimizer_hooks.GradientClipping.
    """

    name = "GradientClipping"
    timing = "pre"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def __call__(self, opt: Any) -> None:
        """Changes the gradients of all parameters of the optimizer."""
        self.apply_to_all(opt, list(opt._initialized_params()))

    def apply_to_all(self, optimizer: Any, params: list[torch.Tensor]) -> None:
        """Changes the gradients of all parameters at once; nothing waits for the device."""
        grads = [param.grad for param in params if param.grad is not None]
        if not grads:
            return
        norms = torch._foreach_norm(grads)
        norm = torch.linalg.vector_norm(torch.stack([value.to(grads[0].device) for value in norms]))
        rate = (self.threshold / norm).clamp(max=1)
        for grad in grads:
            grad.mul_(rate.to(grad.device))


class GradientHardClipping:
    """Limits each element of the gradients. Source: chainer.optimizer_hooks.GradientHardClipping."""

    name = "GradientHardClipping"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, lower_bound: float, upper_bound: float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def __call__(self, rule: Any, param: torch.Tensor) -> None:
        """Changes the gradient of one parameter."""
        if param.grad is not None:
            param.grad.clamp_(self.lower_bound, self.upper_bound)


class GradientLARS:
    """Scales each gradient by the ratio of the norms of weight and gradient.

    Source: chainer.optimizer_hooks.GradientLARS.
    """

    name = "GradientLARS"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, threshold: float = 1e-2, weight_decay: float = 0.0, eps: float = 1e-9) -> None:
        self.threshold = threshold
        self.weight_decay = weight_decay
        self.eps = eps

    def __call__(self, rule: Any, param: torch.Tensor) -> None:
        """Changes the gradient of one parameter."""
        if param.grad is None:
            return
        weight = param.detach()
        p_norm = torch.linalg.vector_norm(weight)
        g_norm = torch.linalg.vector_norm(param.grad)
        local_rate = p_norm / (self.eps + g_norm + self.weight_decay * p_norm)
        rate = torch.where(p_norm > self.threshold, local_rate, torch.ones_like(local_rate))
        param.grad.add_(weight, alpha=self.weight_decay).mul_(rate)


class GradientNoise:
    """Adds noise to each gradient; its default deviation is ``sqrt(eta / (1 + t) ** 0.55)``.

    Args:
        eta: scale of the noise.
        noise_func: function ``(numpy, shape, dtype, hook, rule)`` that gives the noise as an array; None draws from
            a normal distribution on the device.
    Source: chainer.optimizer_hooks.GradientNoise.
    """

    name = "GradientNoise"
    call_for_each_param = True
    timing = "pre"

    def __init__(self, eta: float, noise_func: Callable[..., Any] | None = None) -> None:
        self.eta = eta
        self.noise_func = noise_func

    def __call__(self, rule: Any, param: torch.Tensor) -> None:
        """Changes the gradient of one parameter."""
        if param.grad is None:
            return
        if self.noise_func is None:
            std = float(np.sqrt(self.eta / np.power(1 + rule.t, 0.55)))
            param.grad.add_(torch.randn_like(param.grad), alpha=std)
        else:
            dtype = np.dtype(str(param.grad.dtype).replace("torch.", ""))
            noise = self.noise_func(np, tuple(param.shape), dtype, self, rule)
            param.grad.add_(torch.as_tensor(noise).to(param.grad))
