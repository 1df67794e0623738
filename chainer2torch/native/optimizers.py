"""torch optimizers whose updates are Chainer's. What is not here is one of torch.optim: docs/native-helpers.md.

A gradient that is missing counts as zero, as in Chainer: momentum and weight decay go on. ``weight_decay`` is
Chainer's ``WeightDecay`` hook.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn.parameter import is_lazy


def step_keeping_graphs(optimizer: torch.optim.Optimizer) -> None:
    """A step after which graphs from before it can still go backward, with the new weights, as in Chainer.

    PyTorch refuses that: the loss of a generator through a discriminator that was updated a line before. Source:
    chainer.Optimizer.update.
    """
    parameters = tuple(p for group in optimizer.param_groups for p in group["params"])
    with torch.autograd._unsafe_preserve_version_counter(parameters):
        optimizer.step()


def fill_missing_gradients(optimizer: torch.optim.Optimizer, args: Any = (), kwargs: Any = None) -> None:
    """Zeros for gradients that the backward pass did not reach, as Chainer's ``update`` has them.

    torch skips such parameters: their momentum stands still. Where that can happen, an optimizer of torch.optim needs
    ``optimizer.register_step_pre_hook(fill_missing_gradients)``. Source: chainer.optimizer.GradientMethod.
    """
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.requires_grad and param.grad is None and not is_lazy(param):
                param.grad = torch.zeros_like(param)


def set_up(optimizer: Any, model: torch.nn.Module) -> Any:
    """Gives an optimizer of torch.optim, with one group, the parameters of a model. Source: chainer.Optimizer.setup."""
    optimizer.param_groups[0]["params"] = list(model.parameters())
    optimizer.state.clear()
    optimizer.target = model
    return optimizer


class Adam(torch.optim.Adam):
    """torch.optim.Adam with Chainer's epsilon, added before the bias correction. A missing gradient counts as zero.

    ``amsgrad=True`` is chainer.optimizers.AMSGrad. Source: chainer.optimizers.Adam.
    """

    def __init__(self, params: Any, lr: float = 0.001, betas: Any = (0.9, 0.999), **options: Any):
        super().__init__(params, lr, betas=(float(betas[0]), float(betas[1])), **options)  # torch refuses (0, 0.9)
        for group in self.param_groups:
            group["epsilon"] = group["eps"]
        self.register_step_pre_hook(Adam._prepare)

    def _prepare(self, args: Any, kwargs: Any) -> None:
        step = max((float(state.get("step", 0)) for state in self.state.values()), default=0) + 1
        fill_missing_gradients(self)  # where: helper.fill_missing_gradients
        for group in self.param_groups:
            group["eps"] = group["epsilon"] * (1 - group["betas"][1] ** step) ** -0.5
            for param in group["params"]:  # where: !helper.fill_missing_gradients
                if param.requires_grad and param.grad is None and not is_lazy(param):
                    param.grad = torch.zeros_like(param)


def adam_options(
    alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, *, amsgrad: bool = False
) -> dict[str, Any]:
    """Adam's settings under PyTorch's names, for settings that come from a file. Source: chainer.optimizers.Adam.

    What follows ``eps`` there is ``eta``, which this does not take by its place.
    """
    return {"lr": alpha, "betas": (beta1, beta2), "eps": eps, "amsgrad": amsgrad}


class _DecaysLast(torch.optim.Optimizer):
    """Hooks see the parameters as they are before they decay, as in Chainer."""

    decay: Any = None

    def register_step_pre_hook(self, hook: Any) -> Any:
        if self.decay is not None:
            self.decay.remove()
        handle = super().register_step_pre_hook(hook)
        self.decay = super().register_step_pre_hook(_decay_parameters)
        return handle


class AdamW(_DecaysLast, Adam):
    """Adam with Chainer's decay, which the rate does not scale: p *= 1 - weight_decay_rate, then Adam's step.

    torch.optim.AdamW decays by lr * weight_decay: the same only while the rate is constant. Chainer's eta multiplies
    both: give lr=alpha * eta and weight_decay_rate=eta * weight_decay_rate. Source: chainer.optimizers.AdamW.
    """

    def __init__(self, params: Any, lr: float = 0.001, *args: Any, weight_decay_rate: float = 0, **options: Any):
        if options.get("weight_decay"):
            raise ValueError("weight_decay or weight_decay_rate, not both: their order would not be Chainer's")
        super().__init__(params, lr, *args, **options)
        for group in self.param_groups:
            group.setdefault("weight_decay_rate", weight_decay_rate)


@torch.no_grad()
def _decay_parameters(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.grad is not None:
                param.mul_(1 - group["weight_decay_rate"])


class _Optimizer(torch.optim.Optimizer):
    """Changes one parameter after the other; a gradient that is missing counts as zero, as in Chainer."""

    change: Any  # changes a parameter by its gradient, its state and its group's options

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            for param in group["params"]:
                if param.requires_grad and not is_lazy(param):
                    grad = torch.zeros_like(param) if param.grad is None else param.grad
                    self.change(param, grad.add(param, alpha=group["weight_decay"]), self.state[param], group)
        return loss


class MomentumSGD(torch.optim.Optimizer):
    """Momentum whose velocity holds the rate: v = momentum * v - lr * grad; p += v. A missing gradient is zero.

    torch.optim.SGD multiplies the velocity by today's rate: equal only while the rate does not change.
    Source: chainer.optimizers.MomentumSGD.
    """

    def __init__(self, params: Any, lr: float = 0.01, momentum: float = 0.9, weight_decay: float = 0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for param in (p for p in group["params"] if p.requires_grad and not is_lazy(p)):
                grad = (0 if param.grad is None else param.grad) + group["weight_decay"] * param
                v = self.state[param].setdefault("velocity", torch.zeros_like(param))
                v.mul_(group["momentum"]).sub_(group["lr"] * grad)
                param.add_(v)


class NesterovAG(_Optimizer):
    """Nesterov's gradient in Chainer's form: p += momentum ** 2 * v - (1 + momentum) * lr * grad, v as new.

    torch.optim.SGD(nesterov=True) is another formula. Source: chainer.optimizers.NesterovAG.
    """

    def __init__(self, params: Any, lr: float = 0.01, momentum: float = 0.9, weight_decay: float = 0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        v = state.setdefault("velocity", torch.zeros_like(param))
        v.mul_(group["momentum"]).sub_(group["lr"] * grad)
        param.add_(group["momentum"] ** 2 * v - (1 + group["momentum"]) * group["lr"] * grad)


class AdaGrad(_Optimizer):
    """torch.optim.Adagrad, also of parameters that have no shape yet: torch's begins its sums when it is made.

    Source: chainer.optimizers.AdaGrad.
    """

    def __init__(self, params: Any, lr: float = 0.001, eps: float = 1e-8, weight_decay: float = 0):
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        total = state.setdefault("sum", torch.zeros_like(param)).addcmul_(grad, grad)
        param.sub_(group["lr"] * grad / (total.sqrt() + group["eps"]))


class RMSpropInside(_Optimizer):
    """RMSprop with the epsilon inside of the root: ``eps_inside_sqrt=True``. torch.optim.RMSprop has it outside.

    Source: chainer.optimizers.RMSprop.
    """

    def __init__(self, params: Any, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0):
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay})

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        square = state.setdefault("square", torch.zeros_like(param))
        square.mul_(group["alpha"]).add_((1 - group["alpha"]) * grad * grad)
        param.sub_(group["lr"] * grad / (square + group["eps"]).sqrt())


class RMSpropGraves(_Optimizer):
    """RMSprop after Alex Graves: centred, the epsilon inside of the root, the rate inside of the momentum.

    torch.optim.RMSprop(centered=True, momentum=...) has both outside. Source: chainer.optimizers.RMSpropGraves.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-4,
        alpha: float = 0.95,
        momentum: float = 0.9,
        eps: float = 1e-4,
        weight_decay: float = 0,
    ):
        super().__init__(
            params, {"lr": lr, "alpha": alpha, "momentum": momentum, "eps": eps, "weight_decay": weight_decay}
        )

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        n, g, delta = (state.setdefault(name, torch.zeros_like(param)) for name in ("n", "g", "delta"))
        n.mul_(group["alpha"]).add_((1 - group["alpha"]) * grad * grad)
        g.mul_(group["alpha"]).add_((1 - group["alpha"]) * grad)
        delta.mul_(group["momentum"]).sub_(group["lr"] * grad / (n - g * g + group["eps"]).sqrt())
        param.add_(delta)


class SMORMS3(_Optimizer):
    """Squared mean over root mean squared cubed; torch has no equal. Source: chainer.optimizers.SMORMS3."""

    def __init__(self, params: Any, lr: float = 0.001, eps: float = 1e-16, weight_decay: float = 0):
        super().__init__(params, {"lr": lr, "eps": eps, "weight_decay": weight_decay})

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        memory = state.setdefault("memory", torch.ones_like(param))
        g, g2 = (state.setdefault(name, torch.zeros_like(param)) for name in ("g", "g2"))
        r = 1 / (memory + 1)
        g.mul_(1 - r).add_(r * grad)
        g2.mul_(1 - r).add_(r * grad * grad)
        x = g * g / (g2 + group["eps"])
        param.sub_(grad * x.clamp(max=group["lr"]) / (g2.sqrt() + group["eps"]))
        memory.mul_(1 - x).add_(1)


class MSVAG(_Optimizer):
    """Momentum SGD with variance-adapted gradients; torch has no equal. Source: chainer.optimizers.MSVAG.

    Chainer's eta multiplies both: give lr=lr * eta and weight_decay_rate=eta * weight_decay_rate.
    """

    def __init__(
        self, params: Any, lr: float = 0.1, beta: float = 0.9, weight_decay_rate: float = 0, weight_decay: float = 0
    ):
        super().__init__(
            params, {"lr": lr, "beta": beta, "weight_decay_rate": weight_decay_rate, "weight_decay": weight_decay}
        )

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        m, v = (state.setdefault(name, torch.zeros_like(param)) for name in ("m", "v"))
        state["step"] = state.get("step", 0) + 1
        beta, power = group["beta"], group["beta"] ** state["step"]
        rho = min((1 - beta) ** 2 * (1 - power**2) / ((1 - power) ** 2 * (1 - beta**2)), 0.9999)
        m.lerp_(grad, 1 - beta)
        v.lerp_(grad * grad, 1 - beta)
        mean, square = m / (1 - power), v / (1 - power)
        factor = mean**2 / (mean**2 + rho * (square - mean**2) / (1 - rho))
        factor = factor.clamp(0, 1).nan_to_num(0.0)
        param.sub_(group["lr"] * mean * factor + group["weight_decay_rate"] * param)


class AdaBound(_Optimizer):
    """Adam whose step lies between bounds that close in on final_lr; ``amsgrad=True`` is AMSBound.

    final_lr follows the rate when it is changed. Source: chainer.optimizers.AdaBound, or Adam with ``adabound=True``.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 0.001,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        final_lr: float = 0.1,
        gamma: float = 1e-3,
        eta: float = 1,
        amsgrad: bool = False,
        weight_decay_rate: float = 0,
        weight_decay: float = 0,
    ):
        options = {"lr": lr, "betas": betas, "eps": eps, "final_lr": final_lr, "gamma": gamma, "eta": eta}
        super().__init__(params, {**options, "weight_decay": weight_decay})
        for group in self.param_groups:
            group.update(first_lr=group["lr"])
            group.setdefault("amsgrad", amsgrad)
            group.setdefault("weight_decay_rate", weight_decay_rate)

    def change(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        m, v, largest = (state.setdefault(name, torch.zeros_like(param)) for name in ("m", "v", "largest"))
        t = state["step"] = state.get("step", 0) + 1
        (beta1, beta2), final = group["betas"], group["final_lr"] * group["lr"] / group["first_lr"]
        m.lerp_(grad, 1 - beta1)
        v.lerp_(grad * grad, 1 - beta2)
        largest.copy_(torch.maximum(largest, v) if group["amsgrad"] else v)
        rate = group["lr"] * math.sqrt(1 - beta2**t) / (1 - beta1**t) / (largest.sqrt() + group["eps"])
        rate = rate.clamp(final * (1 - 1 / (group["gamma"] * t + 1)), final * (1 + 1 / (group["gamma"] * t)))
        param.mul_(1 - group["eta"] * group["weight_decay_rate"]).sub_(group["eta"] * rate * m)
