"""Optimizers that get their model after they were made, and compute the loss themselves: Chainer's interface.

They are optimizers of torch.optim, so ``param_groups``, ``state_dict`` and schedulers work. They are for programs in
which an optimizer is made in one place and set up in another one; where both are seen, torch.optim needs no helper.
Settings have Chainer's names and defaults. Counters are kept in the parameter groups, so ``state_dict`` has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy

from chainer2torch.native.graphs import backward
from chainer2torch.native.marks import heed_marks
from chainer2torch.native.optimizers import (
    SMORMS3,
    Adam,
    MomentumSGD,
    NesterovAG,
    RMSpropGraves,
    _DecaysLast,
    fill_missing_gradients,
)


def _setting(key: str) -> Any:
    """A value of the parameter group as an attribute. Source: chainer.optimizer.HyperparameterProxy."""
    return property(
        lambda optimizer: optimizer.param_groups[0][key],
        lambda optimizer, value: optimizer.param_groups[0].update({key: value}),
    )


def _beta(place: int) -> Any:
    """One of a pair of values as an attribute. Source: chainer.optimizers.Adam."""

    def change(optimizer: Any, value: float) -> None:
        betas = list(optimizer.param_groups[0]["betas"])
        betas[place] = value
        optimizer.param_groups[0]["betas"] = tuple(betas)

    return property(lambda optimizer: optimizer.param_groups[0]["betas"][place], change)


class LateOptimizer(torch.optim.Optimizer):
    """An optimizer of torch.optim that gets its parameters in ``setup``. Source: chainer.Optimizer."""

    target: Any = None
    t, epoch = _setting("t"), _setting("epoch")  # where: opt.t, opt.epoch, getattr
    hyperparam = property(lambda self: self)  # where: hyperparam

    def __init__(self, *args: Any, **options: Any):
        super().__init__([{"params": []}], *args, **options)
        self.param_groups[0].update(t=0, epoch=0)  # where: opt.t, opt.epoch, getattr
        self.register_step_pre_hook(LateOptimizer.call_hooks)  # where: add_hook, call_hooks, remove_hook
        self.register_step_pre_hook(_count)  # where: opt.t, opt.epoch, getattr
        heed_marks(self)  # where: freeze, hook_parameter
        self.register_step_post_hook(_call_hooks_behind)  # where: timing

    def __getstate__(self) -> dict[str, Any]:  # where: objects_copied, deepcopy, pickle, dump, multiprocessing, Process
        return vars(self)

    def setup(self, model: Any) -> Any:
        """Takes the parameters of a module, and begins anew."""
        self.target = model
        self.t, self.epoch = 0, 0  # where: opt.t, opt.epoch, getattr
        self.param_groups[0]["params"] = list(model.parameters())
        for param in model.parameters():  # where: freeze, hook_parameter
            vars(param).pop("is_frozen", None)  # where: freeze
            vars(param).pop("update_hooks", None)  # where: hook_parameter
        self.state.clear()
        self.hooks: dict[str, Any] = {}  # where: add_hook, call_hooks, remove_hook
        self.hooks_behind: dict[str, Any] = {}  # where: timing
        return self

    def add_hook(
        self,
        hook: Any,
        name: str | None = None,
        timing: str = "auto",  # where: timing
    ) -> None:
        """Calls ``hook`` with the optimizer in each step; with ``call_for_each_param`` also with each parameter."""
        name = name or getattr(hook, "name", None) or hook.__name__
        if (getattr(hook, "timing", "pre") if timing == "auto" else timing) == "post":  # where: timing
            self.hooks_behind[name] = hook
            return
        self.hooks[name] = hook

    def remove_hook(self, name: str) -> None:
        """Forgets a hook."""
        del (self.hooks if name in self.hooks else self.hooks_behind)[name]

    @torch.no_grad()
    def call_hooks(self, *args: Any) -> None:
        """Calls the hooks in the order in which they were added."""
        for hook in list(self.hooks.values()):
            self.call_hook(hook)

    def call_hook(self, hook: Any) -> None:
        """Calls one hook; it finds a gradient at every parameter."""
        fill_missing_gradients(self)
        if getattr(hook, "call_for_each_param", False):  # where: call_for_each_param
            for param in self.target.parameters():
                if param.grad is not None:
                    hook(self, param)
            return
        hook(self)

    def update(
        self,
        lossfun: Callable[..., Any] | None = None,  # where: update_gets_a_loss, own_steps
        *args: Any,  # where: update_gets_a_loss, own_steps
        **kwds: Any,  # where: update_gets_a_loss, own_steps
    ) -> None:
        """One step; a graph from before it can still go backward, as in Chainer."""
        if lossfun is not None:  # where: update_gets_a_loss, own_steps
            self.compute_gradients(lossfun, *args, **kwds)
        with torch.autograd._unsafe_preserve_version_counter(tuple(self.target.parameters())):
            self.step()

    def compute_gradients(self, lossfun: Callable[..., Any], *args: Any, **kwds: Any) -> None:
        """The gradients of a loss; a module takes arrays, and another loss may share the graph of other functions."""
        is_module = isinstance(lossfun, torch.nn.Module)
        loss = lossfun(*(torch.as_tensor(x) if is_module and isinstance(x, np.ndarray) else x for x in args), **kwds)
        self.zero_grad()
        backward(loss, retain_graph=not is_module)

    def use_cleargrads(self, use: bool = True) -> None:
        """Says nothing here: gradients are always cleared."""

    def new_epoch(self, auto: bool = False) -> None:
        """Counts an epoch."""
        self.epoch += 1  # where: opt.t, opt.epoch, getattr


def at_rate(optimizer: Any, rate: float) -> Any:
    """An optimizer whose rate is below zero, which it refuses where it is made: it goes up the gradient.

    Source: chainer.optimizers.
    """
    optimizer.param_groups[0]["lr"] = rate
    return optimizer


def _count(optimizer: Any, args: Any, kwargs: Any) -> None:
    optimizer.param_groups[0]["t"] += 1


@torch.no_grad()
def _call_hooks_behind(optimizer: Any, args: Any, kwargs: Any) -> None:
    for hook in list(optimizer.hooks_behind.values()):
        optimizer.call_hook(hook)


class LateSGD(LateOptimizer, torch.optim.SGD):
    """Source: chainer.optimizers.SGD."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr

    def __init__(self, lr: float = 0.01):
        super().__init__(lr=0.0)
        self.param_groups[0]["lr"] = lr  # one below zero torch.optim refuses where it is handed over


class LateCorrectedMomentumSGD(LateOptimizer, torch.optim.SGD):
    """Source: chainer.optimizers.CorrectedMomentumSGD."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    momentum = _setting("momentum")  # where: opt.momentum, set.momentum, getattr

    def __init__(self, lr: float = 0.01, momentum: float = 0.9):
        super().__init__(lr=0.0, momentum=momentum)
        self.param_groups[0]["lr"] = lr  # one below zero torch.optim refuses where it is handed over
        self.register_step_pre_hook(fill_missing_gradients)


class LateMomentumSGD(LateOptimizer, MomentumSGD):
    """Source: chainer.optimizers.MomentumSGD."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    momentum = _setting("momentum")  # where: opt.momentum, set.momentum, getattr


class LateNesterovAG(LateOptimizer, NesterovAG):
    """Source: chainer.optimizers.NesterovAG."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    momentum = _setting("momentum")  # where: opt.momentum, set.momentum, getattr


class LateAdaGrad(LateOptimizer, torch.optim.Adagrad):
    """Source: chainer.optimizers.AdaGrad."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    eps = _setting("eps")  # where: opt.eps, set.eps, getattr

    def __init__(self, lr: float = 0.001, eps: float = 1e-8):
        super().__init__(lr=0.0, eps=eps)
        self.param_groups[0]["lr"] = lr  # one below zero torch.optim refuses where it is handed over
        self.register_step_pre_hook(_start_sums)


def _start_sums(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    for param in optimizer.param_groups[0]["params"]:
        if not is_lazy(param) and not optimizer.state[param]:
            optimizer.state[param] = {"step": torch.tensor(0.0), "sum": torch.zeros_like(param)}


class LateAdaDelta(LateOptimizer, torch.optim.Adadelta):
    """Source: chainer.optimizers.AdaDelta."""

    rho = _setting("rho")  # where: opt.rho, set.rho, getattr
    eps = _setting("eps")  # where: opt.eps, set.eps, getattr

    def __init__(self, rho: float = 0.95, eps: float = 1e-6):
        super().__init__(rho=rho, eps=eps)
        self.register_step_pre_hook(fill_missing_gradients)


class LateRMSprop(LateOptimizer, torch.optim.RMSprop):
    """Source: chainer.optimizers.RMSprop."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    alpha = _setting("alpha")  # where: opt.alpha, set.alpha, getattr
    eps = _setting("eps")  # where: opt.eps, set.eps, getattr

    def __init__(self, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8):
        super().__init__(lr=lr, alpha=alpha, eps=eps)
        self.register_step_pre_hook(fill_missing_gradients)


class LateRMSpropGraves(LateOptimizer, RMSpropGraves):
    """Source: chainer.optimizers.RMSpropGraves."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    alpha = _setting("alpha")  # where: opt.alpha, set.alpha, getattr
    momentum = _setting("momentum")  # where: opt.momentum, set.momentum, getattr
    eps = _setting("eps")  # where: opt.eps, set.eps, getattr


class LateSMORMS3(LateOptimizer, SMORMS3):
    """Source: chainer.optimizers.SMORMS3."""

    lr = _setting("lr")  # where: opt.lr, set.lr, getattr
    eps = _setting("eps")  # where: opt.eps, set.eps, getattr


class LateAdam(LateOptimizer, Adam):
    """``alpha`` is the rate. Source: chainer.optimizers.Adam."""

    alpha = _setting("lr")  # where: opt.alpha, set.alpha, getattr
    beta1, beta2 = _beta(0), _beta(1)  # where: opt.beta1, opt.beta2, set.beta1, set.beta2, getattr
    eps = _setting("epsilon")  # where: opt.eps, set.eps, getattr

    def __init__(self, alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, **rest: Any):
        super().__init__(lr=alpha, betas=(beta1, beta2), eps=eps, **rest)

    @property
    def lr(self) -> float:  # where: opt.lr, set.lr, opt.alpha_t, getattr
        """The rate with the correction of the biases, which counts from the first update on."""
        steps = max(float(state["step"]) for state in self.state.values())
        first, second = (1 - beta**steps for beta in self.param_groups[0]["betas"])
        return float(self.param_groups[0]["lr"] * second**0.5 / first)

    @property
    def alpha_t(self) -> float:  # where: opt.alpha_t, getattr
        """Newer name of ``lr``."""
        return self.lr


class LateAMSGrad(LateAdam):
    """Source: chainer.optimizers.AMSGrad."""

    def __init__(self, alpha: float = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8):
        super().__init__(alpha, beta1, beta2, eps, amsgrad=True)


class LateAdamW(_DecaysLast, LateAdam):
    """Source: chainer.optimizers.AdamW."""

    weight_decay_rate = _setting("weight_decay_rate")  # where: .weight_decay_rate, getattr

    def __init__(self, *args: Any, weight_decay_rate: float = 0, **options: Any):
        super().__init__(*args, **options)
        self.param_groups[0]["weight_decay_rate"] = weight_decay_rate


class _Table(type):
    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"{name} is not here: `chainer2torch migrate` puts in what the project's files name")


class OptimizersByName(metaclass=_Table):
    """Optimizers as attributes: ``getattr(OptimizersByName, "Adam")(alpha=0.01)``. Source: chainer.optimizers."""

    SGD = LateSGD  # where: chosen_SGD
    MomentumSGD = LateMomentumSGD  # where: chosen_MomentumSGD
    CorrectedMomentumSGD = LateCorrectedMomentumSGD  # where: chosen_CorrectedMomentumSGD
    NesterovAG = LateNesterovAG  # where: chosen_NesterovAG
    RMSprop = LateRMSprop  # where: chosen_RMSprop
    RMSpropGraves = LateRMSpropGraves  # where: chosen_RMSpropGraves
    AdaGrad = LateAdaGrad  # where: chosen_AdaGrad
    AdaDelta = LateAdaDelta  # where: chosen_AdaDelta
    SMORMS3 = LateSMORMS3  # where: chosen_SMORMS3
    Adam = LateAdam  # where: chosen_Adam
    AMSGrad = LateAMSGrad  # where: chosen_AMSGrad
    AdamW = LateAdamW  # where: chosen_AdamW
