"""Settings of optimizers by the names that Chainer has for them, where a program has the name in a variable."""

from __future__ import annotations

from typing import Any


def setting(optimizer: Any, name: str) -> Any:
    """A setting of an optimizer by Chainer's name for it. Source: chainer.optimizer.Hyperparameter."""
    if hasattr(optimizer, name):
        return getattr(optimizer, name)
    key, place = _place_of(optimizer, name)
    value = optimizer.param_groups[0][key]
    return value if place is None else value[place]


def set_setting(optimizer: Any, name: str, value: Any) -> None:
    """Changes a setting of an optimizer by Chainer's name for it. Source: chainer.optimizer.Hyperparameter."""
    if hasattr(optimizer, name):
        setattr(optimizer, name, value)
        return
    key, place = _place_of(optimizer, name)
    for group in optimizer.param_groups:
        pair = enumerate(group[key]) if place is not None else ()
        group[key] = value if place is None else tuple(value if at == place else old for at, old in pair)


def _place_of(optimizer: Any, name: str) -> tuple[str, int | None]:
    """The key of a parameter group, and the place in the pair that is there; the rate of Adam is ``alpha``."""
    group = optimizer.param_groups[0]
    adams = {"alpha": "lr", "beta1": "betas", "beta2": "betas", "eps": "epsilon", "lr": ""}
    key = adams.get(name, name) if "epsilon" in group else name
    if key not in group:
        raise AttributeError(f"{type(optimizer).__name__} has no setting {name!r} that can be changed")
    return key, {"beta1": 0, "beta2": 1}.get(name)
