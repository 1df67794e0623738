"""What Chainer's optimizers share: setup, hooks, update, hyperparameters, counters, loss scaling and state.

They are ``torch.optim.Optimizer`` objects, so schedulers, ``param_groups`` and ``state_dict`` work. Two things differ
from torch's own optimizers on purpose, because Chainer trains so: a parameter without a gradient counts as one with a
gradient of zeros (momentum, Adam and weight decay move it), and hooks run between the gradients and the step.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.nn.parameter import UninitializedParameter

from chainer2torch.compat.backend.devices import to_device
from chainer2torch.compat.links.link_names import name_parameters
from chainer2torch.compat.links.link_slots import again_of
from chainer2torch.compat.links.link_tree import listed_parameters, params
from chainer2torch.compat.links.own_methods import own_method
from chainer2torch.compat.optimizers.kept_graphs import is_shared
from chainer2torch.compat.optimizers.optimizer_hyperparameters import _OptimizerHyperparameter
from chainer2torch.compat.optimizers.optimizer_state import serialize_parameter_states
from chainer2torch.compat.serializers.state import SerializableEntries
from chainer2torch.compat.optimizers.update_rule import UpdateRule, divide_by_loss_scale
from chainer2torch.compat.variable.variables import backward


class GradientMethod(torch.optim.Optimizer, SerializableEntries):
    """Base class of the optimizers; subclasses implement ``_update_parameters`` or ``create_update_rule``.

    Args:
        params: parameters or parameter groups. Without them :meth:`setup` gives the optimizer its model.
        hyperparams: the settings, by Chainer's names.
    Source: chainer.GradientMethod and chainer.Optimizer.
    """

    target: Any = None
    t: int = 0
    epoch: int = 0
    use_auto_new_epoch: bool = False  # where: use_auto_new_epoch
    _aliases: Mapping[str, str] = {}
    _state_names: tuple[str, ...] = ()
    _loss_scale: float | None = None
    _loss_scale_max = 65504.0  # where: loss_scaling, set_loss_scale, is_safe_to_update
    _dynamic_loss_scale: bool = False  # where: loss_scaling, set_loss_scale, is_safe_to_update
    _use_cleargrads: bool = True
    _use_fp32_update: bool = False

    def __init__(self, params: Iterable[Any] | None = None, **hyperparams: Any) -> None:
        defaults = {self._group_key(name): value for name, value in hyperparams.items()}
        # torch's constructor wants the parameters, which may come later: until then an optimizer without any
        self.__setstate__({"defaults": defaults, "param_groups": [], "state": {}})
        self.hyperparam = _OptimizerHyperparameter(self)
        self._pre_update_hooks: OrderedDict[str, Callable[..., Any]] = OrderedDict()
        self._post_update_hooks: OrderedDict[str, Callable[..., Any]] = OrderedDict()
        self._found_nan = False  # where: loss_scaling, set_loss_scale, is_safe_to_update
        self._found_nan_ever = False  # where: loss_scaling, set_loss_scale, is_safe_to_update
        self._is_set_up = False
        if params is not None:
            self._set_up(list(params))

    def setup(self, link: torch.nn.Module) -> GradientMethod:
        """Takes the parameters of a module; lazy ones join in when their shape is known. Counters start again.

        Raises:
            TypeError: ``link`` is not a module.
        """
        if not isinstance(link, torch.nn.Module):
            raise TypeError("optimization target must be a link")
        self.target = link
        self.t = 0
        self.epoch = 0
        self._pre_update_hooks.clear()
        self._post_update_hooks.clear()
        name_parameters(link)
        self._set_up([{"params": listed_parameters(link)}])
        return self

    def _set_up(self, params: list[Any]) -> None:
        # torch refuses an empty list, which Chainer allows: a group without parameters says the same
        super().__init__(params or [{"params": []}], self.defaults)
        self._is_set_up = True
        for group in self.param_groups:
            for param in group["params"]:
                rule = self.create_update_rule()
                rule._attach(self, param)
                param.update_rule = rule

    def _check_set_up(self) -> None:
        if not self._is_set_up:
            raise RuntimeError("Optimizer is not set up. Call `setup` method.")

    @classmethod
    def _group_key(cls, name: str) -> str:
        return cls._aliases.get(name, name)

    @classmethod
    def _settings(cls, group: Mapping[str, Any]) -> dict[str, Any]:
        names = {key: name for name, key in cls._aliases.items()}
        torchs_own = ("params", "initial_lr", "differentiable")
        return {names.get(key, key): value for key, value in group.items() if key not in torchs_own}

    def create_update_rule(self) -> UpdateRule:
        """The rule of one parameter; subclasses with an update of their own return their ``UpdateRule``."""
        rule = UpdateRule(self.hyperparam)
        rule._optimizer = self  # whose formula it has, also for a parameter of another optimizer
        return rule

    # -- hooks ---------------------------------------------------------------------------------------------------

    def add_hook(self, hook: Callable[..., Any], name: str | None = None, timing: str = "auto") -> None:
        """Registers a function that is called before (``'pre'``) or after (``'post'``) the step, in this order.

        It gets the optimizer; with a true attribute ``call_for_each_param`` it gets (rule, parameter) instead, for
        each parameter. ``'auto'`` asks the hook's attribute ``timing``.
        Raises:
            TypeError: not callable. ValueError: no name or an unknown timing. KeyError: the name is taken.
        """
        self._check_set_up()
        if not callable(hook):
            raise TypeError("hook function must be callable")
        if timing not in ("pre", "post", "auto"):
            raise ValueError("timing must be one of ('pre', 'post', 'auto')")
        if timing == "auto":
            timing = getattr(hook, "timing", "pre")
        if name is None:
            name = getattr(hook, "name", getattr(hook, "__name__", None))
        if name is None:
            raise ValueError("the name of the hook function is not specified")
        if name in self._pre_update_hooks or name in self._post_update_hooks:
            raise KeyError(f'hook "{name}" already exists')
        (self._pre_update_hooks if timing == "pre" else self._post_update_hooks)[name] = hook

    def remove_hook(self, name: str) -> None:
        """Removes a hook by its name."""
        self._check_set_up()
        hooks = self._pre_update_hooks if name in self._pre_update_hooks else self._post_update_hooks
        del hooks[name]

    def call_hooks(self, timing: str = "pre") -> None:
        """Calls the hooks in the order of their registration."""
        self._check_set_up()
        for hook in (self._pre_update_hooks if timing == "pre" else self._post_update_hooks).values():
            self.call_hook(hook)

    def call_hook(self, hook: Callable[..., Any]) -> None:
        """Calls one hook; afterwards every parameter has a gradient again."""
        with torch.no_grad():
            again = again_of(self.target)
            if hasattr(hook, "apply_to_all"):  # the built-in hooks: all parameters in one call
                params = list(self._initialized_params())
                if getattr(hook, "call_for_each_param", False):
                    hook.apply_to_all(self, params)
                    for param in again:
                        hook.apply_to_all(self, [param])
                else:
                    hook.apply_to_all(self, params + again)
            elif getattr(hook, "call_for_each_param", False):
                for param in (*self._params_in_chainers_order(), *again):
                    hook(param.update_rule, param)
            else:
                hook(self)
        self.reallocate_cleared_grads()

    # -- update --------------------------------------------------------------------------------------------------

    def update(self, lossfun: Callable[..., Any] | None = None, *args: Any, **kwds: Any) -> None:
        """One update. With ``lossfun``: forward, clear the gradients, backward first.

        Without it the gradients are taken as they are.
        """
        self._check_set_up()
        if lossfun is not None:
            self.compute_gradients(lossfun, *args, **kwds)
        self.step()

    def compute_gradients(self, lossfun: Callable[..., Any], *args: Any, **kwds: Any) -> None:
        """What ``update(lossfun)`` does before the step: forward, clear the gradients, backward.

        A module gets tensors in place of NumPy arrays, as Chainer's links take both.
        """
        if isinstance(lossfun, torch.nn.Module):
            args, kwds = to_device(None, args), to_device(None, kwds)
        loss = lossfun(*args, **kwds)
        clear = own_method(self.target, "cleargrads" if self._use_cleargrads else "zerograds")
        clear() if clear is not None else self.zero_grad(set_to_none=self._use_cleargrads)
        shared = is_shared(lossfun, (*args, *kwds.values()))
        scale = self._loss_scale
        if scale is not None:
            self._gradients_are_scaled(scale)
        if not isinstance(loss, torch.Tensor):  # half way it may be a Variable of Chainer's
            (loss if scale is None else loss * scale).backward()
        elif shared:
            if loss.requires_grad:  # one that hangs on no parameter has no gradients; the hooks still run
                backward(loss, loss_scale=scale, retain_graph=True)
        else:
            loss.backward(None if scale is None else torch.full_like(loss, scale))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update from the gradients; ``closure`` computes them, as for torch's optimizers."""
        self._check_set_up()
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.reallocate_cleared_grads()
        self._check_nan()  # where: loss_scaling, set_loss_scale, is_safe_to_update
        self.call_hooks("pre")
        self.t += 1
        self._update_groups()
        self._gradients_are_scaled(None)
        self.reallocate_cleared_grads()
        self.call_hooks("post")
        self._adapt_loss_scale()  # where: loss_scaling, set_loss_scale, is_safe_to_update
        return loss

    @torch.no_grad()
    def _update_groups(self) -> None:
        if self._found_nan:  # where: loss_scaling, set_loss_scale, is_safe_to_update
            return
        for group in self.param_groups:
            self._update_group(group)
        for param in again_of(self.target):
            param.update_rule.update(param)

    def _gradients_are_scaled(self, loss_scale: float | None) -> None:
        """Notes by what the next step divides the gradients: those of a backward() that scaled, as in Chainer."""
        if loss_scale is not None or self._loss_scale is not None:
            for param in self._params():
                param._loss_scale = loss_scale

    def reallocate_cleared_grads(self) -> None:
        """Gives every parameter that has no gradient a gradient of zeros."""
        for param in self._initialized_params():
            if param.grad is None:
                param.grad = torch.zeros_like(param, requires_grad=False)

    def _params(self) -> Iterator[Any]:
        for group in self.param_groups:
            for param in group["params"]:
                if param.requires_grad:
                    yield param

    def _params_in_chainers_order(self) -> list[Any]:
        """Sorted by their paths: a hook that draws random numbers gives each parameter the same ones."""
        place = {id(param): i for i, param in enumerate(params(self.target))} if self.target is not None else {}
        return sorted(self._params(), key=lambda param: place.get(id(param), len(place)))

    def _initialized_params(self) -> Iterator[torch.Tensor]:
        return (param for param in self._params() if not isinstance(param, UninitializedParameter))

    def _update_group(self, group: dict[str, Any]) -> None:
        """Updates the parameters of a group; those whose rule has settings of its own go one by one."""
        together = []
        own_rules = type(self).create_update_rule is not GradientMethod.create_update_rule
        for param in group["params"]:
            if not param.requires_grad:
                continue
            rule = getattr(param, "update_rule", None)
            if rule is None or rule._is_default(self) and not own_rules:
                if not isinstance(param, UninitializedParameter):
                    together.append(param)
            elif rule._optimizer is not self:  # another one was set up later, whose rule counts by itself
                rule.update(param)
            elif rule.enabled:
                (rule.update if rule._has_own_formula else rule._update)(param)
            else:
                rule._missed += 1
        if together:
            self._update_together(together, self._settings(group), self.t)

    def _update_together(self, params: list[Any], hp: dict[str, Any], t: int) -> None:
        # `.data`: a graph that was built before the update stays usable, and sees the new values, as in Chainer
        masters = [param.data for param in params]
        if self._use_fp32_update and any(param.dtype == torch.float16 for param in params):
            masters = [self._master(param) for param in params]
        grads = [
            param.grad if param.dtype == master.dtype else param.grad.to(master.dtype)
            for param, master in zip(params, masters, strict=True)
        ]
        for param, grad in zip(params, grads, strict=True):
            divide_by_loss_scale(param, grad)
        states = [self._state_of(param, master) for param, master in zip(params, masters, strict=True)]
        self._update_parameters(masters, grads, states, hp, t)
        for param, master in zip(params, masters, strict=True):
            if master.dtype != param.dtype:
                param.data.copy_(master)

    def _master(self, param: torch.Tensor) -> torch.Tensor:
        if param.dtype != torch.float16:
            return param.data
        state: dict[str, torch.Tensor] = self.state[param]
        if "fp32_param" not in state:
            state["fp32_param"] = param.detach().float()
        return state["fp32_param"]

    def _state_of(self, param: torch.Tensor, like: torch.Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state.setdefault(param, {})
        for name in self._state_names:
            value = state.get(name)
            if value is None:
                state[name] = self._initial_state(name, like)
            elif value.device != like.device:  # the model moved
                state[name] = value.to(like.device)
        return state

    def _initial_state(self, name: str, param: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(param, requires_grad=False)

    def _update_parameters(
        self, params: list[Any], grads: list[Any], states: list[dict[str, Any]], hp: dict[str, Any], t: int
    ) -> None:
        """The formula: changes ``params`` and ``states`` in place. ``t`` counts updates from 1."""
        raise NotImplementedError

    # -- epochs, gradients and loss scaling ----------------------------------------------------------------------

    def new_epoch(self, auto: bool = False) -> None:
        """Counts an epoch.

        Raises:
            RuntimeError: both the updater (``auto=True``) and the program count.
        """
        if auto and not self.use_auto_new_epoch:  # where: use_auto_new_epoch
            raise RuntimeError(
                "invalid new_epoch call with auto=True.\nFix the updater to set optimizer.use_auto_new_epoch = True."
            )
        if not auto and self.use_auto_new_epoch:  # where: use_auto_new_epoch
            raise RuntimeError(
                "duplicated new_epoch with the updater.\nPass auto_new_epoch=False to the updater or "
                "stop calling new_epoch outside the updater."
            )
        self.epoch += 1

    def use_cleargrads(self, use: bool = True) -> None:
        """Whether ``update(lossfun)`` clears the gradients (default) or fills them with zeros."""
        self._use_cleargrads = use

    def use_fp32_update(self, flag: bool = True) -> None:
        """Whether float16 parameters are updated through a float32 copy."""
        self._use_fp32_update = flag

    def loss_scaling(self, interval: int = 1000, scale: float | None = None) -> None:
        """Scales the loss in ``update(lossfun)``: by ``scale``, or dynamically with ``interval`` steps to double."""
        if scale is not None:
            if scale <= 0:
                raise ValueError(f"loss_scale must be a positive number. Actual: {scale}")
            self._loss_scale = scale
            return
        if interval < 1:
            raise ValueError(f"interval must be greater than or equal to 1. Actual: {interval}")
        self._dynamic_loss_scale = True
        self._loss_scale = 1.0
        self._loss_scale_growth = math.pow(2.0, 1.0 / interval)

    def set_loss_scale(self, loss_scale: float) -> None:
        """Scales the loss by a constant."""
        self.loss_scaling(scale=loss_scale)

    def is_safe_to_update(self) -> bool:
        """Whether the last gradients were finite (checked for dynamic loss scaling only)."""
        return not self._found_nan

    def _check_nan(self) -> None:
        self._found_nan = False
        if self._dynamic_loss_scale:
            self._found_nan = not all(
                bool(torch.isfinite(param.grad).all()) for param in self._initialized_params() if param.grad is not None
            )
            if self._found_nan:
                self._found_nan_ever = True
                warnings.warn(
                    f"Non finite number found in a gradient (iteration: {self.t}, loss_scale: {self._loss_scale})"
                )

    def _adapt_loss_scale(self) -> None:
        if self._dynamic_loss_scale and self._loss_scale is not None:
            factor = 0.5 if self._found_nan else self._loss_scale_growth if self._found_nan_ever else 2.0
            self._loss_scale = max(1, min(self._loss_scale_max, self._loss_scale * factor))

    # -- state ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """torch's state_dict with Chainer's counters ``t`` and ``epoch``."""
        return {**torch.optim.Optimizer.state_dict(self), "t": self.t, "epoch": self.epoch}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` gave."""
        self.t, self.epoch = state_dict["t"], state_dict["epoch"]
        rest = {key: value for key, value in state_dict.items() if key not in ("t", "epoch")}
        torch.optim.Optimizer.load_state_dict(self, rest)

    def serialize(self, serializer: Any) -> None:
        """Stores or restores counters and parameter states in Chainer's layout."""
        self._check_set_up()
        self.t = serializer("t", self.t)
        self.epoch = serializer("epoch", self.epoch)
        if self.target is not None:
            serialize_parameter_states(serializer, self)

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.hyperparam.get_dict().items())
        return f"{type(self).__name__}({settings})"
