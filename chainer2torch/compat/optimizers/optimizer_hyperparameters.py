"""The settings of an optimizer as attributes: ``optimizer.hyperparam.lr``, and ``optimizer.lr`` for short."""

from __future__ import annotations

from typing import Any

from chainer2torch.compat.optimizers.update_rule import Hyperparameter


class _OptimizerHyperparameter(Hyperparameter):
    """The optimizer's settings as attributes; they live in ``defaults`` and ``param_groups``, where torch looks."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__()
        vars(self)["_optimizer"] = optimizer

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        optimizer = vars(self)["_optimizer"]
        key = optimizer._group_key(name)
        source = optimizer.param_groups[0] if optimizer.param_groups else optimizer.defaults
        if key not in source or self._is_torchs(name):
            raise AttributeError(f"{type(optimizer).__name__} has no hyperparameter {name!r}")
        return source[key]

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_torchs(name):
            vars(self)[name] = value  # as in Chainer, where no update reads it
            return
        optimizer = vars(self)["_optimizer"]
        key = optimizer._group_key(name)
        for settings in (optimizer.defaults, *optimizer.param_groups):
            settings[key] = value

    def _is_torchs(self, name: str) -> bool:
        """Whether the name is PyTorch's for a setting that Chainer calls otherwise (``lr`` of Adam is ``alpha``)."""
        aliases = vars(self)["_optimizer"]._aliases
        return name in aliases.values() and name not in aliases

    def get_dict(self) -> dict[str, Any]:
        """All settings by Chainer's names."""
        optimizer = vars(self)["_optimizer"]
        source = optimizer.param_groups[0] if optimizer.param_groups else optimizer.defaults
        settings: dict[str, Any] = optimizer._settings(source)
        return settings


class HyperparameterProxy:
    """An attribute of the optimizer that reads and sets one of its hyperparameters.

    Source: chainer.optimizer.HyperparameterProxy.
    """

    def __init__(self, attr_name: str) -> None:
        self._attr_name = attr_name

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        return self if obj is None else getattr(obj.hyperparam, self._attr_name)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj.hyperparam, self._attr_name, value)
