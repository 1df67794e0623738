"""The attributes of layers under Chainer's names, for code that does not know which layer it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd


def own_attribute_name(module: nn.Module, name: str) -> str:
    """What a module calls an attribute of Chainer's name; the name itself where it has no other."""
    names = {"padding": "pad", "dilation": "dilate", "kernel_size": "ksize"} if isinstance(module, _ConvNd) else {}
    if isinstance(module, (_NormBase, nn.LayerNorm, nn.GroupNorm)):
        names |= {
            "weight": "gamma",
            "bias": "beta",
            "running_mean": "avg_mean",
            "running_var": "avg_var",
            "num_groups": "groups",
        }
    elif isinstance(module, (nn.Linear, _ConvNd, nn.Embedding, nn.PReLU)):
        names |= {"weight": "W", "bias": "b", "in_features": "in_size", "out_features": "out_size"}
    names |= getattr(module, "_chainer_names", {})
    return next((own for own, called in names.items() if called == name and hasattr(module, own)), name)


def link_attribute(obj: Any, name: str, *default: Any) -> Any:
    """``obj.name``, where a layer of PyTorch may call it otherwise: Chainer's ``W`` is its ``weight``.

    The default, or AttributeError, where neither exists.
    """
    waited = "reset_parameters" in getattr(obj, "__dict__", ())  # for its size, for `init_weights` of the project's own
    if name in ("in_size", "in_channels") and (waited or getattr(obj, "filled_when_inferred", False)):
        return None  # what the constructor was given
    if isinstance(obj, nn.Module) and not hasattr(obj, name):
        if isinstance(obj, _NormBase) and name == "decay":
            return 1 - obj.momentum  # type: ignore[operator]
        if isinstance(obj, _NormBase) and name == "N":
            return getattr(obj, "_chainer_N", 0)
        if isinstance(obj, nn.Embedding) and name == "ignore_label":
            return None
        name = own_attribute_name(obj, name)
    value = getattr(obj, name, *default)
    return int(value) if name == "N" and isinstance(value, torch.Tensor) else value


def set_link_attribute(obj: Any, name: str, value: Any) -> None:
    """``obj.name = value`` by Chainer's name, where a layer of PyTorch may call it otherwise.

    A parameter takes a parameter, an array on whose memory one is made, or what was computed, in its place.
    """
    if isinstance(obj, nn.Module) and name == "N" and "N" in obj._buffers:
        obj.get_buffer("N").fill_(value)
        return
    if isinstance(obj, nn.Module) and not hasattr(obj, name):
        if isinstance(obj, _NormBase) and name in ("decay", "N"):
            name, value = ("momentum", 1 - value) if name == "decay" else ("_chainer_N", value)
        name = own_attribute_name(obj, name)
    if isinstance(value, np.ndarray) and getattr(obj, "_parameters", {}).get(name) is not None:  # of version 1
        value = torch.as_tensor(value, dtype=obj._parameters[name].dtype)
    if isinstance(value, torch.Tensor) and name in getattr(obj, "_parameters", ()):
        if value.grad_fn is not None:
            del obj._parameters[name]
        elif not isinstance(value, nn.Parameter):
            value = nn.Parameter(value.detach(), requires_grad=value.is_floating_point())
    setattr(obj, name, value)
