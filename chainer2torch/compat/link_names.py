"""The attributes of layers under the names that Chainer gives them, for code that does not know which layer it has."""
from typing import Any

import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from chainer2torch.compat.link_slots import parameter_names


def link_attribute(obj: Any, name: str) -> Any:
    """``obj.name``, where a layer of PyTorch may call it otherwise: ``W`` is its ``weight``, ``pad`` its ``padding``.

    An attribute of that very name comes first, so objects that are no layers are asked as before. Raises
    AttributeError where neither exists.
    """
    if isinstance(obj, nn.Module) and not hasattr(obj, name):
        if name == "decay" and isinstance(obj, _NormBase) and obj.momentum is not None:
            return 1 - obj.momentum
        if name == "ignore_label" and isinstance(obj, nn.Embedding):
            return None  # a link that ignores a label is the helper, which has it
        return getattr(obj, own_attribute_name(obj, name))
    return getattr(obj, name)


def parameter_name(param: torch.Tensor) -> str:
    """What Chainer calls a parameter in its link: ``'W'``, ``'b'``, ``'gamma'``. Source: chainer.Parameter.name.

    Raises:
        AttributeError: nothing has told its name so far. ``setup`` of an optimizer does, and so do ``params`` and
            ``namedparams``.
    """
    try:
        return param._chainer_name  # type: ignore[attr-defined]
    except AttributeError:
        raise AttributeError("the name of this tensor is not known: parameters get theirs from the setup() of an "
                             "optimizer, or from compat.namedparams(model)") from None


def name_parameters(module: nn.Module) -> None:
    """Lets :func:`parameter_name` know the parameters of a module and of all it contains."""
    for part in module.modules():
        for name, own in parameter_names(part):
            getattr(part, own)._chainer_name = name.rsplit("/", 1)[-1]


def has_link_attribute(obj: Any, name: str) -> bool:
    """Whether ``link_attribute(obj, name)`` gives something."""
    try:
        link_attribute(obj, name)
    except AttributeError:
        return False
    return True


def set_link_attribute(obj: Any, name: str, value: Any) -> None:
    """``obj.name = value`` where a layer of PyTorch may call it otherwise.

    A parameter of a layer takes a parameter (which is then shared), else TypeError. One number for what is a tuple
    there (pad, stride, dilate of a convolution) counts for every axis.
    """
    if isinstance(obj, nn.Module):
        if not hasattr(obj, name):
            name = own_attribute_name(obj, name)
        present = getattr(obj, name, None)
        if isinstance(present, tuple) and isinstance(value, int):
            value = (value,) * len(present)
    setattr(obj, name, value)


def own_attribute_name(module: nn.Module, name: str) -> str:
    """What a module calls an attribute of Chainer's name; the name itself where it has no other."""
    for chainer_name, own in parameter_names(module):
        if chainer_name == name:
            return own
    if name == "b" and "bias" in module._parameters and "W" in dict(parameter_names(module)):
        return "bias"  # None: a layer without one
    for own, chainer_name in getattr(module, "_chainer_names", {}).items():
        if chainer_name == name and own in module._buffers:
            return own
    if isinstance(module, _NormBase):
        return {"avg_mean": "running_mean", "avg_var": "running_var", "gamma": "weight", "beta": "bias"}.get(name, name)
    if isinstance(module, _ConvNd):
        return {"pad": "padding", "dilate": "dilation", "ksize": "kernel_size"}.get(name, name)
    return name
