"""Settings of optimizers by the names that Chainer has for them, where a program has the name in a variable."""

from __future__ import annotations

from typing import Any


def setting(optimizer: Any, name: str) -> Any:
    """A setting of an optimizer by Chainer's name for it. Source: chainer.optimizer.Hyperparameter."""
    if hasattr(optimizer, name):  # where: helper.GradientMethod, helper.OldGradientMethod, helper.RuledAdam
        return getattr(optimizer, name)
    group = optimizer.param_groups[0]
    return group["betas"][name == "beta2"] if name in ("beta1", "beta2") else group[_key(group, name)]


def set_setting(optimizer: Any, name: str, value: Any) -> None:
    """Changes a setting of an optimizer by Chainer's name for it. Source: chainer.optimizer.Hyperparameter."""
    if hasattr(optimizer, name):  # where: helper.GradientMethod, helper.OldGradientMethod, helper.RuledAdam
        setattr(optimizer, name, value)
        return
    for group in optimizer.param_groups:
        if name in ("beta1", "beta2"):  # where: own.beta1, own.beta2
            first, second = group["betas"]
            group["betas"] = (value, second) if name == "beta1" else (first, value)
            continue
        group[_key(group, name)] = value


def _key(group: dict[str, Any], name: str) -> str:
    key = {"alpha": "lr", "eps": "epsilon", "lr": ""}.get(name, name) if "epsilon" in group else name
    if key not in group:
        raise AttributeError(f"this optimizer has no setting {name!r} that can be changed")
    return key
