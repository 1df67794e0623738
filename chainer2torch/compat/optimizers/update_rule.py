"""Per-parameter settings and update rules: ``param.update_rule``, as in Chainer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import UninitializedParameter


class Hyperparameter:
    """Settings as attributes; one that is not set here is looked up in ``parent``.

    Source: chainer.optimizer.Hyperparameter.
    """

    def __init__(self, parent: Hyperparameter | None = None) -> None:
        vars(self)["_parent"] = parent

    def __getattr__(self, name: str) -> Any:
        parent = vars(self).get("_parent")
        if parent is None or name.startswith("__"):
            raise AttributeError(name)
        return getattr(parent, name)

    @property
    def parent(self) -> Hyperparameter | None:
        """Where settings that are missing here are looked up."""
        parent: Hyperparameter | None = vars(self)["_parent"]
        return parent

    def get_dict(self) -> dict[str, Any]:
        """All settings, the parent's included."""
        parent = vars(self)["_parent"]
        settings = {} if parent is None else parent.get_dict()
        settings.update((name, value) for name, value in vars(self).items() if name != "_parent")
        return settings

    def __repr__(self) -> str:
        return "Hyperparameter(" + ", ".join(f"{key}={value}" for key, value in sorted(self.get_dict().items())) + ")"


class _RuleState(dict[str, Any]):
    """The state of an own update rule: NumPy arrays that are put in become tensors on the parameter's device.

    In Chainer ``self.state["v"] = np.zeros_like(param.data)`` gives an array that gradients can be added to.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            same = value.flags.writeable and min(value.strides, default=0) >= 0  # the same memory, as in Chainer
            value = torch.from_numpy(value if same else value.copy()).to(self._device)
        super().__setitem__(name, value)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value


class UpdateRule:
    """How one parameter is updated: settings of its own, hooks, ``enabled``; or, in subclasses, the formula itself.

    A subclass defines ``init_state(param)``, which fills ``self.state`` (arrays there become tensors), and
    ``update_core(param)``, which changes ``param.data`` from ``param.grad``. Source: chainer.UpdateRule.
    """

    def __init__(self, parent_hyperparam: Hyperparameter | None = None) -> None:
        self.enabled = True
        self.hyperparam = Hyperparameter(parent_hyperparam)
        self._hooks: OrderedDict[str, tuple[str, Callable[..., Any]]] = OrderedDict()
        self._optimizer: Any = None
        self._param: Any = None
        self._missed = 0
        self._own_state: dict[str, Any] | None = None
        self._own_t = 0

    def __reduce__(self) -> Any:
        # a saved or copied parameter does not take its optimizer along
        return _no_rule, ()

    def _attach(self, optimizer: Any, param: torch.Tensor) -> None:
        self._optimizer, self._param = optimizer, param

    def _is_default(self, optimizer: Any) -> bool:
        """Whether the parameter can be updated together with the others of its group."""
        return (
            self.enabled
            and self._optimizer is optimizer
            and not self._hooks
            and not self._missed
            and len(vars(self.hyperparam)) == 1
        )

    @property
    def _has_own_formula(self) -> bool:
        return type(self) is not UpdateRule

    @property
    def t(self) -> int:
        """Number of updates of this parameter."""
        if self._has_own_formula or self._optimizer is None:
            return self._own_t
        counted: int = self._optimizer.t - self._missed
        return counted

    @t.setter
    def t(self, value: int) -> None:
        self._own_t = value
        if self._optimizer is not None:
            self._missed = self._optimizer.t - value

    @property
    def _state(self) -> dict[str, Any] | None:
        return self.state  # as Chainer keeps it

    @_state.setter
    def _state(self, state: dict[str, Any] | None) -> None:
        self._own_state = state

    @property
    def state(self) -> dict[str, Any] | None:
        """The state arrays by name; None before the first update."""
        if self._has_own_formula or self._optimizer is None:
            return self._own_state
        state: dict[str, Any] | None = self._optimizer.state.get(self._param)
        return state

    def add_hook(self, hook: Callable[..., Any], name: str | None = None, timing: str = "auto") -> None:
        """Registers a function ``(rule, param)`` that runs before (``'pre'``) or after (``'post'``) the update."""
        if not callable(hook):
            raise TypeError("hook function must be callable")
        if timing == "auto":
            timing = getattr(hook, "timing", "pre")
        if name is None:
            name = getattr(hook, "name", getattr(hook, "__name__", None))
        if name is None:
            raise ValueError("the name of the hook function is not specified")
        if name in self._hooks:
            raise KeyError(f'hook "{name}" already exists')
        self._hooks[name] = (timing, hook)

    def remove_hook(self, name: str) -> None:
        """Removes a hook by its name."""
        del self._hooks[name]

    def update(self, param: Any) -> None:
        """Calls the hooks and updates the parameter, unless ``enabled`` is false. Counts in ``t``."""
        if not self.enabled:
            return
        self._own_t += 1
        self._missed -= 1
        with torch.no_grad():
            self._update(param)

    def _update(self, param: Any) -> None:
        """The update that the optimizer has counted already."""
        if isinstance(param, UninitializedParameter):
            return
        halved = param.dtype == torch.float16 and getattr(self._optimizer, "_use_fp32_update", False)
        if self._has_own_formula and halved:
            raise NotImplementedError(
                "an update rule of your own gets the float16 parameter itself: convert it there "
                "instead of calling use_fp32_update()"
            )
        if self._has_own_formula and self._own_state is None:
            self._own_state = self._initial_state(param)
        scale = param.__dict__.get("_loss_scale")
        if not halved:
            divide_by_loss_scale(param, param.grad)
        before, param._loss_scale = param.__dict__.get("_loss_scale"), scale  # hooks see it, as in Chainer
        self._call_hooks("pre", param)
        param._loss_scale = before
        self.update_core(param)
        self._call_hooks("post", param)

    def _call_hooks(self, timing: str, param: Any) -> None:
        for when, hook in list(self._hooks.values()):
            if when == timing:
                hook(self, param)

    def _initial_state(self, param: Any) -> dict[str, Any]:
        """What ``init_state`` fills in."""
        before, self._own_state = self._own_state, _RuleState(param.device)
        try:
            self.init_state(param)
            return self._own_state
        finally:
            self._own_state = before

    def init_state(self, param: Any) -> None:
        """Fills ``self.state`` at the first update. That of a rule of Chainer's own can be made before, as here."""
        if self._optimizer is not None and not self._has_own_formula and not self._optimizer.state.get(param):
            self._optimizer.state[param] = _RuleState(param.device)
            self._optimizer._state_of(param, param)

    def update_core(self, param: Any) -> None:
        """Changes ``param`` from ``param.grad``."""
        if not self._has_own_formula:
            self._optimizer._update_together([param], self.hyperparam.get_dict(), self.t)
        elif param.is_cuda:
            self.update_core_gpu(param)
        else:
            self.update_core_cpu(param)

    def update_core_cpu(self, param: Any) -> None:
        """The formula for CPU parameters, for subclasses that tell the two apart."""
        raise NotImplementedError

    def update_core_gpu(self, param: Any) -> None:
        """The formula for CUDA parameters, for subclasses that tell the two apart."""
        raise NotImplementedError


def divide_by_loss_scale(param: Any, grad: torch.Tensor | None) -> None:
    """Undoes, in place and once, what the last backward() multiplied the gradients by. Source: chainer.UpdateRule."""
    loss_scale = param.__dict__.get("_loss_scale")
    if loss_scale is not None and grad is not None:
        grad.div_(loss_scale)
        param._loss_scale = None


def _no_rule() -> None:
    return None
