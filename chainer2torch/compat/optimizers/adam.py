"""Adam and its variants with Chainer's formulas, argument names and defaults."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.optim.adam import adam as _torch_adam

from chainer2torch.compat.optimizers.optimizer_base import GradientMethod
from chainer2torch.compat.optimizers.optimizer_hyperparameters import HyperparameterProxy
from chainer2torch.compat.optimizers.optimizers import _check_eps, _column, _Params, _States, _Tensors


class Adam(GradientMethod):
    """Adam with eps added before the bias correction, decoupled weight decay, AMSGrad and AdaBound.

    ``alpha`` is the rate (torch's ``lr`` in ``param_groups``); the weight decay is not multiplied by it.
    Source: chainer.optimizers.Adam.
    """

    alpha = HyperparameterProxy("alpha")
    beta1 = HyperparameterProxy("beta1")
    beta2 = HyperparameterProxy("beta2")
    eps = HyperparameterProxy("eps")
    eta = HyperparameterProxy("eta")
    weight_decay_rate = HyperparameterProxy("weight_decay_rate")
    amsgrad = HyperparameterProxy("amsgrad")
    adabound = HyperparameterProxy("adabound")
    final_lr = HyperparameterProxy("final_lr")
    gamma = HyperparameterProxy("gamma")
    _aliases = {"alpha": "lr"}
    _state_names: tuple[str, ...] = ("m", "v")

    def __init__(
        self,
        alpha: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        eta: float = 1.0,
        weight_decay_rate: float = 0,
        amsgrad: bool = False,
        adabound: bool = False,
        final_lr: float = 0.1,
        gamma: float = 1e-3,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(
            params,
            alpha=alpha,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            eta=eta,
            weight_decay_rate=weight_decay_rate,
            amsgrad=amsgrad,
            adabound=adabound,
            final_lr=final_lr,
            gamma=gamma,
        )

    def _set_up(self, params: list[Any]) -> None:
        super()._set_up(params)
        self._initial_alpha = self.alpha
        if self.amsgrad:
            self._state_names = ("m", "v", "vhat")

    @property
    def alpha_t(self) -> float:
        """The rate with the bias correction of the current step."""
        return self._corrected_rate(self.hyperparam.get_dict(), self.t)

    @property
    def lr(self) -> float:
        """Older name of :attr:`alpha_t`."""
        return self.alpha_t

    @staticmethod
    def _corrected_rate(hp: dict[str, Any], t: int) -> float:
        if t == 0:
            raise RuntimeError(
                "Can't determine the learning rate of Adam optimizer because the update steps have not been started."
            )
        rate: float = hp["alpha"] * math.sqrt(1.0 - hp["beta2"] ** t) / (1.0 - hp["beta1"] ** t)
        return rate

    def _update_parameters(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        _check_eps("Adam", hp["eps"], params)
        if hp["weight_decay_rate"]:
            torch._foreach_mul_(params, 1.0 - hp["eta"] * hp["weight_decay_rate"])
        if hp["adabound"]:
            self._update_with_bounds(params, grads, states, hp, t)
            return
        # torch divides by sqrt(v / fix2) + eps where Chainer divides by sqrt(v) + eps and multiplies with sqrt(fix2)
        eps = hp["eps"] / math.sqrt(1.0 - hp["beta2"] ** t) if hp["eps"] else 0.0
        steps = [self._step_tensor(param, t) for param in params]
        _torch_adam(
            params,
            grads,
            _column(states, "m"),
            _column(states, "v"),
            _column(states, "vhat") if hp["amsgrad"] else [],
            steps,
            fused=True,
            amsgrad=hp["amsgrad"],
            beta1=hp["beta1"],
            beta2=hp["beta2"],
            lr=hp["eta"] * hp["alpha"],
            weight_decay=0.0,
            eps=eps,
            maximize=False,
        )

    def _step_tensor(self, param: torch.Tensor, t: int) -> torch.Tensor:
        """torch's own counter, which its function increments: made anew only when it does not stand at ``t - 1``.

        It stays out of the state, which has Chainer's names alone.
        """
        steps = vars(self).setdefault("_steps", {})
        step, updates = steps.get(id(param), (None, 0))
        if step is None or updates != t - 1 or step.device != param.device:
            # float32 whatever torch's default: the fused kernel of a GPU reads it so
            step = torch.full((), t - 1.0, device=param.device, dtype=torch.float32)
        steps[id(param)] = step, t
        return step  # type: ignore[no-any-return]

    def _update_with_bounds(
        self, params: _Tensors, grads: _Tensors, states: _States, hp: dict[str, Any], t: int
    ) -> None:
        final_lr = hp["final_lr"] * hp["alpha"] / self._initial_alpha
        lower = final_lr * (1.0 - 1.0 / (hp["gamma"] * t + 1))
        upper = final_lr * (1.0 + 1.0 / (hp["gamma"] * t))
        rate = self._corrected_rate(hp, t)
        m, v = _column(states, "m"), _column(states, "v")
        torch._foreach_lerp_(m, grads, 1 - hp["beta1"])
        torch._foreach_mul_(v, hp["beta2"])
        torch._foreach_addcmul_(v, grads, grads, 1 - hp["beta2"])
        if hp["amsgrad"]:
            v = _column(states, "vhat")
            torch._foreach_maximum_(v, _column(states, "v"))
        for param, mean, square in zip(params, m, v, strict=True):
            step = (rate / (square.sqrt() + hp["eps"])).clamp(lower, upper)
            param.sub_(hp["eta"] * step * mean)


class AdamW(Adam):
    """Adam whose weight decay is not part of the gradient. Source: chainer.optimizers.AdamW."""

    def __init__(
        self,
        alpha: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        eta: float = 1.0,
        weight_decay_rate: float = 0,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, weight_decay_rate, params=params)


class AMSGrad(Adam):
    """Adam with the largest second moment so far. Source: chainer.optimizers.AMSGrad."""

    def __init__(
        self,
        alpha: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        eta: float = 1.0,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, amsgrad=True, params=params)


class AdaBound(Adam):
    """Adam with bounds on the rate that close in on ``final_lr``. Source: chainer.optimizers.AdaBound."""

    def __init__(
        self,
        alpha: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        final_lr: float = 0.1,
        gamma: float = 1e-3,
        eps: float = 1e-8,
        eta: float = 1.0,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(alpha, beta1, beta2, eps, eta, adabound=True, final_lr=final_lr, gamma=gamma, params=params)


class AMSBound(Adam):
    """:class:`AdaBound` with :class:`AMSGrad`. Source: chainer.optimizers.AMSBound."""

    def __init__(
        self,
        alpha: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        final_lr: float = 0.1,
        gamma: float = 1e-3,
        eps: float = 1e-8,
        eta: float = 1.0,
        *,
        params: _Params = None,
    ) -> None:
        super().__init__(
            alpha, beta1, beta2, eps, eta, amsgrad=True, adabound=True, final_lr=final_lr, gamma=gamma, params=params
        )
