"""Chainer's optimizers with Chainer's formulas, argument names and defaults; those like Adam are in adam.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.optimizers.optimizer_base import GradientMethod
from chainer2torch.compat.optimizers.optimizer_hyperparameters import HyperparameterProxy

_Params = Iterable[Any] | None
_States = list[dict[str, Any]]
_Tensors = list[Any]


def _column(states: _States, name: str) -> _Tensors:
    return [state[name] for state in states]


def _check_eps(name: str, eps: float, params: _Tensors) -> None:
    """An eps that is zero in the parameter's dtype would divide by zero: an error, as in Chainer."""
    for dtype, numpy_type in ((torch.float16, np.float16), (torch.float32, np.float32)):
        if eps != 0 and numpy_type(eps) == 0 and any(param.dtype == dtype for param in params):
            raise ValueError(f"eps of {name} optimizer is too small for {numpy_type.__name__} ({eps})")


class SGD(GradientMethod):
    """Stochastic gradient descent: p -= lr * g. Source: chainer.optimizers.SGD."""

    lr = HyperparameterProxy("lr")

    def __init__(self, lr: float = 0.01, *, params: _Params = None) -> None:
        super().__init__(params, lr=lr)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        torch._foreach_add_(params, grads, alpha=-hp["lr"])


class MomentumSGD(GradientMethod):
    """Momentum SGD with the rate inside the velocity: v = momentum * v - lr * g; p += v.

    torch.optim.SGD keeps the rate outside, which is the same only while the rate is constant.
    Source: chainer.optimizers.MomentumSGD.
    """

    lr = HyperparameterProxy("lr")
    momentum = HyperparameterProxy("momentum")
    _state_names = ("v",)

    def __init__(self, lr: float = 0.01, momentum: float = 0.9, *, params: _Params = None) -> None:
        super().__init__(params, lr=lr, momentum=momentum)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        v = _column(states, "v")
        torch._foreach_mul_(v, hp["momentum"])
        torch._foreach_add_(v, grads, alpha=-hp["lr"])
        torch._foreach_add_(params, v)


class CorrectedMomentumSGD(GradientMethod):
    """Momentum SGD with the rate outside: v = momentum * v - g; p += lr * v.

    Source: chainer.optimizers.CorrectedMomentumSGD.
    """

    lr = HyperparameterProxy("lr")
    momentum = HyperparameterProxy("momentum")
    _state_names = ("v",)

    def __init__(self, lr: float = 0.01, momentum: float = 0.9, *, params: _Params = None) -> None:
        super().__init__(params, lr=lr, momentum=momentum)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        v = _column(states, "v")
        torch._foreach_mul_(v, hp["momentum"])
        torch._foreach_sub_(v, grads)
        torch._foreach_add_(params, v, alpha=hp["lr"])


class NesterovAG(GradientMethod):
    """Nesterov's accelerated gradient, in Chainer's form. Source: chainer.optimizers.NesterovAG."""

    lr = HyperparameterProxy("lr")
    momentum = HyperparameterProxy("momentum")
    _state_names = ("v",)

    def __init__(self, lr: float = 0.01, momentum: float = 0.9, *, params: _Params = None) -> None:
        super().__init__(params, lr=lr, momentum=momentum)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        v, lr, momentum = _column(states, "v"), hp["lr"], hp["momentum"]
        torch._foreach_mul_(v, momentum)
        torch._foreach_add_(v, grads, alpha=-lr)
        torch._foreach_add_(params, v, alpha=momentum * momentum)
        torch._foreach_add_(params, grads, alpha=-(1 + momentum) * lr)


class RMSprop(GradientMethod):
    """RMSprop. Source: chainer.optimizers.RMSprop."""

    lr = HyperparameterProxy("lr")
    alpha = HyperparameterProxy("alpha")
    eps = HyperparameterProxy("eps")
    eps_inside_sqrt = HyperparameterProxy("eps_inside_sqrt")
    _state_names = ("ms",)

    def __init__(
        self,
        lr: float = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        eps_inside_sqrt: bool = False,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, eps_inside_sqrt=eps_inside_sqrt)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        _check_eps("RMSprop", hp["eps"], params)
        ms = _column(states, "ms")
        torch._foreach_mul_(ms, hp["alpha"])
        torch._foreach_addcmul_(ms, grads, grads, 1 - hp["alpha"])
        if hp["eps_inside_sqrt"]:
            denominators = list(torch._foreach_add(ms, hp["eps"]))
            torch._foreach_sqrt_(denominators)
        else:
            denominators = list(torch._foreach_sqrt(ms))
            torch._foreach_add_(denominators, hp["eps"])
        torch._foreach_addcdiv_(params, grads, denominators, -hp["lr"])


class RMSpropGraves(GradientMethod):
    """RMSprop in the form of Graves (2013). Source: chainer.optimizers.RMSpropGraves."""

    lr = HyperparameterProxy("lr")
    alpha = HyperparameterProxy("alpha")
    momentum = HyperparameterProxy("momentum")
    eps = HyperparameterProxy("eps")
    _state_names = ("n", "g", "delta")

    def __init__(
        self, lr: float = 1e-4, alpha: float = 0.95, momentum: float = 0.9, eps: float = 1e-4, *, params: _Params = None
    ) -> None:
        super().__init__(params, lr=lr, alpha=alpha, momentum=momentum, eps=eps)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        n, g, delta = _column(states, "n"), _column(states, "g"), _column(states, "delta")
        torch._foreach_mul_(n, hp["alpha"])
        torch._foreach_addcmul_(n, grads, grads, 1 - hp["alpha"])
        torch._foreach_mul_(g, hp["alpha"])
        torch._foreach_add_(g, grads, alpha=1 - hp["alpha"])
        variances = torch._foreach_addcmul(n, g, g, -1)
        torch._foreach_add_(variances, hp["eps"])
        torch._foreach_sqrt_(variances)
        torch._foreach_mul_(delta, hp["momentum"])
        torch._foreach_addcdiv_(delta, grads, variances, -hp["lr"])
        torch._foreach_add_(params, delta)


class SMORMS3(GradientMethod):
    """SMORMS3. Source: chainer.optimizers.SMORMS3."""

    lr = HyperparameterProxy("lr")
    eps = HyperparameterProxy("eps")
    _state_names = ("mem", "g", "g2")

    def __init__(self, lr: float = 0.001, eps: float = 1e-16, *, params: _Params = None) -> None:
        super().__init__(params, lr=lr, eps=eps)

    def _initial_state(self, name: str, param: torch.Tensor) -> torch.Tensor:
        state = super()._initial_state(name, param)
        return state.fill_(1) if name == "mem" else state

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        for param, grad, state in zip(params, grads, states, strict=True):
            mem, g, g2 = state["mem"], state["g"], state["g2"]
            r = 1 / (mem + 1)
            g.mul_(1 - r).add_(r * grad)
            g2.mul_(1 - r).add_(r * grad * grad)
            x = g * g / (g2 + hp["eps"])
            param.sub_(grad * x.clamp(max=hp["lr"]) / (g2.sqrt() + hp["eps"]))
            mem.mul_(1 - x).add_(1)


class AdaGrad(GradientMethod):
    """AdaGrad. Source: chainer.optimizers.AdaGrad."""

    lr = HyperparameterProxy("lr")
    eps = HyperparameterProxy("eps")
    _state_names = ("h",)

    def __init__(self, lr: float = 0.001, eps: float = 1e-8, *, params: _Params = None) -> None:
        super().__init__(params, lr=lr, eps=eps)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        h = _column(states, "h")
        torch._foreach_addcmul_(h, grads, grads, 1)
        denominators = list(torch._foreach_sqrt(h))
        torch._foreach_add_(denominators, hp["eps"])
        torch._foreach_addcdiv_(params, grads, denominators, -hp["lr"])


class AdaDelta(GradientMethod):
    """AdaDelta. Source: chainer.optimizers.AdaDelta."""

    rho = HyperparameterProxy("rho")
    eps = HyperparameterProxy("eps")
    _state_names = ("msg", "msdx")

    def __init__(self, rho: float = 0.95, eps: float = 1e-6, *, params: _Params = None) -> None:
        super().__init__(params, rho=rho, eps=eps)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        msg, msdx, rho, eps = _column(states, "msg"), _column(states, "msdx"), hp["rho"], hp["eps"]
        torch._foreach_mul_(msg, rho)
        torch._foreach_addcmul_(msg, grads, grads, 1 - rho)
        dx = torch._foreach_add(msdx, eps)
        torch._foreach_div_(dx, torch._foreach_add(msg, eps))
        torch._foreach_sqrt_(dx)
        torch._foreach_mul_(dx, grads)
        torch._foreach_mul_(msdx, rho)
        torch._foreach_addcmul_(msdx, dx, dx, 1 - rho)
        torch._foreach_sub_(params, dx)


class MSVAG(GradientMethod):
    """M-SVAG: momentum with variance adaptation. Source: chainer.optimizers.MSVAG."""

    lr = HyperparameterProxy("lr")
    beta = HyperparameterProxy("beta")
    eta = HyperparameterProxy("eta")
    weight_decay_rate = HyperparameterProxy("weight_decay_rate")
    _state_names = ("m", "v")

    def __init__(
        self,
        lr: float = 0.1,
        beta: float = 0.9,
        eta: float = 1.0,
        weight_decay_rate: float = 0,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(params, lr=lr, beta=beta, eta=eta, weight_decay_rate=weight_decay_rate)

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        beta = hp["beta"]
        for param, grad, state in zip(params, grads, states, strict=True):
            # a product and no power of t: beta may change on the way
            power = state.setdefault("beta_power", beta)
            rho = (1 - beta) ** 2 * (1 - power**2) / ((1 - power) ** 2 * (1 - beta**2))
            rho = min(rho, 0.9999)
            m, v = state["m"], state["v"]
            m.add_(grad - m, alpha=1 - beta)
            v.add_(grad * grad - v, alpha=1 - beta)
            mt = m / (1 - power)
            mt2 = mt * mt
            variance = (v / (1 - power) - mt2) / (1 - rho)
            factor = (mt2 / (mt2 + rho * variance)).clamp(0, 1).nan_to_num_(nan=0.0)
            param.sub_(hp["eta"] * (hp["lr"] * mt * factor + hp["weight_decay_rate"] * param))
            state["beta_power"] = power * beta
