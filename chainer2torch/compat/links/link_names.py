"""The attributes of layers under the names that Chainer gives them, for code that does not know which layer it has."""

from typing import Any

import numpy as np
import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from chainer2torch.compat.links.link_slots import link_children, parameter_names


def link_attribute(obj: Any, name: str, *default: Any) -> Any:
    """``obj.name``, where a layer of PyTorch may call it otherwise: ``W`` is its ``weight``, ``pad`` its ``padding``.

    An attribute of that very name comes first, so objects that are no layers are asked as before. The default, or
    AttributeError, where neither exists.
    """
    if name in ("in_size", "in_channels") and "_chainer_lazy" in getattr(obj, "__dict__", ()):
        return None  # Chainer keeps what the constructor was given
    if name == "N" and getattr(obj, "_counts_finetuning", False):
        return int(obj.N)
    if isinstance(obj, nn.Module) and not hasattr(obj, name):
        if name == "N" and isinstance(obj, _NormBase):
            return vars(obj).get("_chainer_N", 0)
        if name == "decay" and isinstance(obj, _NormBase) and obj.momentum is not None:
            return 1 - obj.momentum
        if name == "ignore_label" and isinstance(obj, nn.Embedding):
            return None  # a link that ignores a label is the helper, which has it
        return getattr(obj, own_attribute_name(obj, name), *default)
    return getattr(obj, name, *default)


def parameter_name(param: torch.Tensor, owner: nn.Module | None = None) -> str:
    """What Chainer calls a parameter in its link: ``'W'``, ``'b'``, ``'gamma'``. Source: chainer.Parameter.name.

    Args:
        param: the parameter.
        owner: the module that holds it, if it is known.
    Raises:
        AttributeError: nothing has told its name so far (``setup`` of an optimizer does, and so do ``params`` and
            ``namedparams``), or several modules hold it under different names.
    """
    if isinstance(owner, nn.Module):
        name_own_parameters(owner)
    who = "parameters get theirs from the setup() of an optimizer, or from compat.namedparams(model)"
    name: str = _the_name(vars(param).get("_chainer_names"), who)
    return name


def link_name(link: nn.Module, parent: nn.Module | None = None) -> str | None:
    """What a module is called in the one that holds it; the position in a list as text. Source: chainer.Link.name.

    Args:
        link: the module.
        parent: the module that holds it, if it is known.
    Raises:
        AttributeError: nothing has told its name so far (``setup`` of an optimizer does for what the model holds, and
            so do ``children``, ``links`` and ``namedlinks``), or several modules hold it under different names.
    """
    if isinstance(parent, nn.Module):
        name_children(parent)
    who = "modules get theirs from compat.children(parent) and compat.namedlinks(model)"
    name: str | None = _the_name(vars(link).get("_chainer_link_names"), who)
    return name


def name_of(obj: Any) -> Any:
    """:func:`parameter_name` of a tensor, :func:`link_name` of a module, ``obj.name`` of anything else."""
    if isinstance(obj, torch.Tensor):
        return parameter_name(obj)
    return link_name(obj) if isinstance(obj, nn.Module) and not hasattr(obj, "name") else obj.name


def _the_name(told: dict[int, Any] | None, who: str) -> Any:
    """The one name among those that were told."""
    if told is None:
        raise AttributeError(f"the name is not known here: {who}")
    names = {name for name in told.values() if name is not None}
    if len(names) > 1:
        raise AttributeError(f"it has several names: {', '.join(sorted(names))}; Chainer takes the last one")
    return names.pop() if names else None


def name_own_parameters(module: nn.Module) -> None:
    """Lets :func:`parameter_name` know the parameters that a module itself holds."""
    for name, own in parameter_names(module):
        param = getattr(module, own)
        _tell(param, "_chainer_names", module, name.rsplit("/", 1)[-1])
        if own == "bias" and isinstance(module, LazyModuleMixin) and isinstance(module, (nn.Linear, _ConvNd)):
            param._chainer_size = module.out_features if isinstance(module, nn.Linear) else module.out_channels


def has_values_in_chainer(param: torch.Tensor) -> bool:
    """Whether a parameter without a shape is the bias of a lazy layer, which has values in Chainer from the start."""
    return is_lazy(param) and hasattr(param, "_chainer_size")


def name_children(module: nn.Module) -> None:
    """Lets :func:`link_name` know the children of a module."""
    order = {name: i for i, name in enumerate(module._modules)}
    for name, child in sorted(link_children(module), key=lambda item: order.get(item[0], 0)):
        _tell(child, "_chainer_link_names", module, name)  # one that is held twice has the name that came last


def _tell(named: Any, attribute: str, holder: nn.Module, name: str) -> None:
    told: dict[int, str] = vars(named).get(attribute, {})
    told[id(holder)] = name
    object.__setattr__(named, attribute, told)


def name_parameters(module: nn.Module) -> None:
    """Lets :func:`parameter_name` and :func:`link_name` know the parameters and modules that a module contains."""
    for part in module.modules():
        name_own_parameters(part)
        name_children(part)


def has_link_attribute(obj: Any, name: str) -> bool:
    """Whether ``link_attribute(obj, name)`` gives something."""
    try:
        link_attribute(obj, name)
    except AttributeError:
        return False
    return True


def set_link_attribute(obj: Any, name: str, value: Any) -> None:
    """``obj.name = value`` where a layer of PyTorch may call it otherwise.

    A parameter of a layer takes a parameter (which is then shared), an array or tensor without a graph, on whose memory
    a parameter is made, or a result of a computation, which takes its place and is no parameter. One number for what is
    a tuple there (pad, stride, dilate of a convolution) counts for every axis.
    """
    if isinstance(obj, nn.Module):
        if name == "decay" and isinstance(obj, _NormBase) and not hasattr(obj, name):
            obj.momentum = 1 - value
            return
        if name == "N" and getattr(obj, "_counts_finetuning", False):
            obj.get_buffer("N").fill_(value)
            return
        if not hasattr(obj, name):
            name = own_attribute_name(obj, name)
        present = getattr(obj, name, None)
        if isinstance(present, tuple) and isinstance(value, int):
            value = (value,) * len(present)
        if isinstance(value, np.ndarray) and obj._parameters.get(name) is not None:  # of version 1
            value = torch.as_tensor(value, dtype=obj._parameters[name].dtype)  # type: ignore[union-attr]
        if isinstance(value, torch.Tensor) and name in obj._parameters and not isinstance(value, nn.Parameter):
            if value.grad_fn is None:
                value = nn.Parameter(value.detach(), requires_grad=value.is_floating_point())
            else:
                del obj._parameters[name]
    setattr(obj, name, value)


def own_attribute_name(module: nn.Module, name: str) -> str:
    """What a module calls an attribute of Chainer's name; the name itself where it has no other."""
    for chainer_name, own in parameter_names(module):
        if chainer_name == name:
            return own
    if name == "b" and "bias" in module._parameters and "W" in dict(parameter_names(module)):
        return "bias"  # None: a layer without one
    names: dict[str, str] = getattr(module, "_chainer_names", {})
    for own, chainer_name in names.items():
        if chainer_name == name and (own in module._buffers or own in module._parameters):
            return own  # None: a layer without one
    if isinstance(module, _NormBase):
        return {
            "N": "_chainer_N",
            "avg_mean": "running_mean",
            "avg_var": "running_var",
            "gamma": "weight",
            "beta": "bias",
        }.get(name, name)
    if name == "W" and isinstance(vars(module).get("weight"), torch.Tensor):
        return "weight"  # computed: no parameter
    if isinstance(module, nn.Linear):
        return {"in_size": "in_features", "out_size": "out_features"}.get(name, name)
    if isinstance(module, nn.GroupNorm) and name == "groups":
        return "num_groups"
    if isinstance(module, _ConvNd):
        return {"pad": "padding", "dilate": "dilation", "ksize": "kernel_size"}.get(name, name)
    return name
