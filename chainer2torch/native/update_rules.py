"""Optimizers of a program's own that say how one parameter is updated: Chainer's GradientMethod and UpdateRule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from chainer2torch.native.devices import to_device
from chainer2torch.native.late_optimizers import LateOptimizer
from chainer2torch.native.optimizers import fill_missing_gradients


class Hyperparameter:
    """Settings as attributes; one that is not set here is its parent's. Source: chainer.optimizer.Hyperparameter."""

    def __init__(self, parent: Any = None):
        self.parent = parent

    def __getattr__(self, name: str) -> Any:
        if name == "parent" or name.startswith("__") or self.parent is None:
            raise AttributeError(name)
        return getattr(self.parent, name)

    def get_dict(self) -> dict[str, Any]:
        """All settings, the parent's included."""
        own = {name: value for name, value in vars(self).items() if name != "parent"}
        return {**self.parent.get_dict(), **own} if self.parent is not None else own


class HyperparameterProxy:
    """A setting of an optimizer as its attribute. Source: chainer.optimizer.HyperparameterProxy."""

    def __init__(self, attr_name: str):
        self.name = attr_name

    def __get__(self, optimizer: Any, owner: Any = None) -> Any:
        return self if optimizer is None else getattr(optimizer.hyperparam, self.name)

    def __set__(self, optimizer: Any, value: Any) -> None:
        setattr(optimizer.hyperparam, self.name, value)


class UpdateRule:
    """How one parameter is updated: ``init_state`` fills ``state``, ``update_core`` changes the parameter.

    Arrays in the state become tensors on the parameter's device. Source: chainer.UpdateRule.
    """

    enabled = True
    _state = property(lambda self: self.state, lambda self, state: setattr(self, "state", state))  # where: own._state

    def __init__(self, parent_hyperparam: Any = None):
        self.hyperparam = Hyperparameter(parent_hyperparam)
        self.hooks: list[tuple[str, Callable[..., Any]]] = []  # where: add_hook
        self.state: Any = None
        self.t = 0

    def add_hook(self, hook: Callable[..., Any], name: str | None = None, timing: str = "auto") -> None:
        """Calls ``hook`` with the rule and the parameter, before or after ("post") each update."""
        self.hooks.append((getattr(hook, "timing", "pre") if timing == "auto" else timing, hook))

    @torch.no_grad()
    def update(self, param: Any) -> None:
        """Updates a parameter that has a gradient, unless the rule is not enabled."""
        if not self.enabled:  # where: enabled
            return
        self.t += 1
        if self.state is None:
            self.state = {}
            self.init_state(param)
            self.state = to_device(param.device, self.state)
        for _, hook in (pair for pair in self.hooks if pair[0] == "pre"):  # where: add_hook
            hook(self, param)
        self.update_core(param)
        for _, hook in (pair for pair in self.hooks if pair[0] == "post"):  # where: add_hook
            hook(self, param)

    def init_state(self, param: Any) -> None:
        """Fills the state before the first update."""

    def update_core(self, param: Any) -> None:
        """Changes the parameter."""
        (self.update_core_gpu if param.is_cuda else self.update_core_cpu)(param)

    def update_core_cpu(self, param: Any) -> None:
        raise NotImplementedError

    update_core_gpu = update_core_cpu


class GradientMethod(LateOptimizer):
    """The base of optimizers whose ``create_update_rule`` gives the rule of one parameter.

    Source: chainer.GradientMethod.
    """

    hyperparam: Any = None

    def __init__(self) -> None:
        super().__init__(defaults={})
        self.register_step_pre_hook(fill_missing_gradients)
        self.hyperparam = Hyperparameter()

    def create_update_rule(self) -> Any:
        raise NotImplementedError

    def setup(self, model: Any) -> Any:
        super().setup(model)
        for param in model.parameters():
            param.update_rule = self.create_update_rule()
        return self

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for param in self.param_groups[0]["params"]:
            if param.grad is not None:
                param.update_rule.update(param)

    def state_dict(self) -> dict[str, Any]:
        rules = [param.update_rule for param in self.param_groups[0]["params"]]
        return {"t": self.t, "epoch": self.epoch, "rules": [(rule.t, rule.state) for rule in rules]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.t, self.epoch = state["t"], state["epoch"]
        for param, (t, values) in zip(self.param_groups[0]["params"], state["rules"]):
            param.update_rule.t, param.update_rule.state = t, to_device(param.device, values)


class AdamRule(UpdateRule):
    """Adam's step for one parameter. Settings that are given here are its own. Source: chainer.optimizers.AdamRule."""

    def __init__(
        self,
        parent_hyperparam: Any = None,
        alpha: Any = None,
        beta1: Any = None,
        beta2: Any = None,
        eps: Any = None,
        eta: Any = None,
        weight_decay_rate: Any = None,
        amsgrad: Any = None,
    ):
        super().__init__(parent_hyperparam or RuledAdam().hyperparam)
        given = {"alpha": alpha, "beta1": beta1, "beta2": beta2, "eps": eps, "eta": eta, "amsgrad": amsgrad}
        given["weight_decay_rate"] = weight_decay_rate
        vars(self.hyperparam).update({name: value for name, value in given.items() if value is not None})

    def init_state(self, param: Any) -> None:
        self.state.update({name: torch.zeros_like(param) for name in ("m", "v", "vhat")})

    def update_core_cpu(self, param: Any) -> None:
        hp, (m, v, vhat) = self.hyperparam, (self.state[name] for name in ("m", "v", "vhat"))
        m += (1 - hp.beta1) * (param.grad - m)
        v += (1 - hp.beta2) * (param.grad * param.grad - v)
        vhat.copy_(vhat.maximum(v) if hp.amsgrad else v)
        param.mul_(1 - hp.eta * hp.weight_decay_rate).sub_(hp.eta * self.alpha_t * m / (vhat.sqrt() + hp.eps))

    update_core_gpu = update_core_cpu

    @property
    def alpha_t(self) -> float:
        """The rate with the correction of the biases."""
        hp = self.hyperparam
        return float(hp.alpha * (1 - hp.beta2**self.t) ** 0.5 / (1 - hp.beta1**self.t))

    @property
    def lr(self) -> float:
        """Older name of ``alpha_t``."""
        return self.alpha_t


class RuledAdam(GradientMethod):
    """Adam for classes that change the rule of its parameters. Source: chainer.optimizers.Adam."""

    alpha, eta = HyperparameterProxy("alpha"), HyperparameterProxy("eta")
    beta1, beta2 = HyperparameterProxy("beta1"), HyperparameterProxy("beta2")
    eps, amsgrad = HyperparameterProxy("eps"), HyperparameterProxy("amsgrad")
    weight_decay_rate = HyperparameterProxy("weight_decay_rate")

    def __init__(
        self,
        alpha: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        eta: float = 1.0,
        weight_decay_rate: float = 0,
        amsgrad: bool = False,
    ):
        super().__init__()
        settings = {"alpha": alpha, "beta1": beta1, "beta2": beta2, "eps": eps, "eta": eta, "amsgrad": amsgrad}
        vars(self.hyperparam).update(settings, weight_decay_rate=weight_decay_rate)

    def create_update_rule(self) -> Any:
        return AdamRule(self.hyperparam)

    @property
    def lr(self) -> float:
        """The rate with the correction of the biases, which counts from the first update on."""
        hp = self.hyperparam
        return float(hp.alpha * (1 - hp.beta2**self.t) ** 0.5 / (1 - hp.beta1**self.t))
