"""Walks modules as Chainer walks links: its orders, its paths, and what it does to whole trees of parameters."""

import functools
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy

from chainer2torch.compat.links.copies import copy_object, deepcopy
from chainer2torch.compat.initializers.initializers import NaN, as_initializer
from chainer2torch.compat.initializers.layer_init import initialize
from chainer2torch.compat.links.link_names import has_values_in_chainer, name_children, name_own_parameters
from chainer2torch.compat.links.link_slots import link_children, parameter_names
from chainer2torch.compat.links.links_base import ChainerLayer
from chainer2torch.compat.links.own_methods import instance_of, own_method
from chainer2torch.compat.variable.parameters import parameter


def children(module: nn.Module) -> Iterator[nn.Module]:
    """The child links in Chainer's order: by name, or by position in lists. Source: chainer.Link.children."""
    name_children(module)  # for link_name
    for _, child in link_children(module):
        yield child


def namedlinks(module: nn.Module, skipself: bool = False) -> Iterator[tuple[str, nn.Module]]:
    """All links with their paths (``/``, ``/l1``, ``/blocks/0``), depth first. Source: chainer.Link.namedlinks."""
    if not skipself:
        yield "/", module
    name_children(module)  # for link_name
    for name, child in link_children(module):
        yield "/" + name, child
        for path, link in namedlinks(child, skipself=True):
            yield "/" + name + path, link


def links(module: nn.Module, skipself: bool = False) -> Iterator[nn.Module]:
    """All links, depth first. Source: chainer.Link.links."""
    for _, link in namedlinks(module, skipself):
        yield link


def namedparams(module: nn.Module, include_uninit: bool = True) -> Iterator[tuple[str, Any]]:
    """All parameters with their paths and names in Chainer (``/l1/W``), sorted by name at every level.

    A parameter that is reached twice comes twice. ``include_uninit=False`` leaves out those without a shape. A module
    with a ``namedparams`` of its own says itself which it has. Source: chainer.Link.namedparams.
    """
    own = own_method(module, "namedparams")
    if own is not None:
        yield from own() if include_uninit else own(include_uninit)
        return
    module = instance_of(module)
    name_own_parameters(module)  # for parameter_name
    for key, name in parameter_names(module):
        param = getattr(module, name)
        if include_uninit or not is_lazy(param):
            yield "/" + key, param
    for name, child in link_children(module):
        for path, param in namedparams(child, include_uninit):
            yield "/" + name + path, param


def params(module: nn.Module, include_uninit: bool = True) -> Iterator[Any]:
    """All parameters in Chainer's order; a module with a ``params`` of its own says itself which it has.

    Source: chainer.Link.params.
    """
    own = own_method(module, "params")
    if own is not None:
        yield from own() if include_uninit else own(include_uninit)
        return
    module = instance_of(module)
    name_own_parameters(module)  # for parameter_name
    for _, name in parameter_names(module):
        param = getattr(module, name)
        if include_uninit or not is_lazy(param):
            yield param
    for _, child in link_children(module):
        yield from params(child, include_uninit)


def listed_parameters(module: nn.Module) -> list[Any]:
    """The parameters that an optimizer of Chainer's sees, each once: all, unless some module has its own ``params``."""
    own = list(module.parameters())
    if not any(callable(getattr(type(part), "params", None)) for part in module.modules()):
        return own
    listed = {id(param): param for param in params(module)}
    known = {id(param) for param in own}
    return [p for p in own if id(p) in listed] + [p for key, p in listed.items() if key not in known]


def count_params(module: nn.Module) -> int:
    """How many numbers the parameters hold; those without a shape are left out, with a warning.

    Source: chainer.Link.count_params.
    """
    size = 0
    for path, param in namedparams(module):
        if not is_lazy(param):
            size += param.numel()
        elif has_values_in_chainer(param):
            size += getattr(param, "_chainer_size")  # noqa: B009 - only told to such parameters
        else:
            warnings.warn(f"parameter '{path}' has no shape yet and is not counted")
    return size


def zerograds(module: nn.Module) -> None:
    """Fills every gradient with zeros, in place; makes those that are missing. Source: chainer.Link.zerograds."""
    own = own_method(module, "zerograds")
    if own is not None:
        own()
        return
    for param in listed_parameters(instance_of(module)):
        if not is_lazy(param):
            param.grad = torch.zeros_like(param) if param.grad is None else param.grad.detach().zero_()


def copyparams(module: nn.Module, link: nn.Module, copy_persistent: bool = True) -> None:
    """Copies the values of another module of the same structure; buffers too unless ``copy_persistent`` is false.

    A missing part raises AttributeError, another shape RuntimeError. A module with a ``copyparams`` of its own copies
    itself. Source: chainer.Link.copyparams.
    """
    own = own_method(module, "copyparams")
    if own is not None:
        own(link) if copy_persistent else own(link, copy_persistent)
        return
    module = instance_of(module)
    with torch.no_grad():
        for name, param in module._parameters.items():
            if param is not None:
                _copy_tensor(param, getattr(link, name))
        if copy_persistent:
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    _copy_tensor(buffer, getattr(link, name))
            for name in vars(module).get("_chainer_persistent", ()):
                setattr(module, name, deepcopy(getattr(link, name)))
    for name, child in module._modules.items():
        if child is not None:
            copyparams(child, getattr(link, name), copy_persistent)


def _copy_tensor(target: Any, source: torch.Tensor) -> None:
    if is_lazy(source):
        return
    if is_lazy(target):
        target.materialize(source.shape)
    if target.shape != source.shape:
        raise RuntimeError(f"cannot copy a tensor of shape {tuple(source.shape)} to one of {tuple(target.shape)}")
    target.copy_(source)


def addgrads(module: nn.Module, link: nn.Module) -> None:
    """Adds the gradients of another module of the same structure. Source: chainer.Link.addgrads."""
    own = own_method(module, "addgrads")
    if own is not None:
        own(link)
        return
    module = instance_of(module)
    for name, param in module._parameters.items():
        if param is not None:
            grad = getattr(link, name).grad
            if grad is not None:
                grad = grad.to(param.device)
                param.grad = grad.clone() if param.grad is None else param.grad + grad
    for name, child in module._modules.items():
        if child is not None:
            addgrads(child, getattr(link, name))


def set_update_enabled(module: nn.Module, enabled: bool) -> None:
    """Lets optimizers change the parameters they were set up with, or not; gradients are computed all the same.

    Parameters without such an optimizer stay as they are, as in Chainer: call it after ``setup``. Optimizers of
    torch.optim do not know the switch. Source: chainer.Link.enable_update and disable_update.
    """
    for param in module.parameters():
        rule = getattr(param, "update_rule", None)
        if rule is not None:
            rule.enabled = enabled


def is_update_enabled(module: nn.Module) -> bool:
    """Whether an optimizer may change some parameter. Source: chainer.Link.update_enabled."""
    return any(
        rule is not None and rule.enabled
        for rule in (getattr(param, "update_rule", None) for param in module.parameters())
    )


def add_param(
    module: nn.Module, name: str, shape: Any = None, dtype: Any = np.float32, initializer: Any = None
) -> None:
    """Registers a parameter: NaN without an initializer, without a shape if ``shape`` is None.

    A name that is taken raises AttributeError. Source: chainer.Link.add_param.
    """
    if hasattr(module, name):
        raise AttributeError(f"cannot register a new parameter {name}: attribute exists")
    initializer = NaN(dtype) if initializer is None else initializer
    created = parameter(initializer, shape)
    created.initializer = as_initializer(initializer)  # type: ignore[attr-defined]  # for a copy that is filled anew
    setattr(module, name, created)


def add_params(module: nn.Module, given: Mapping[str, Any] | None = None, /, **shapes: Any) -> None:
    """Registers parameters given as ``name=shape`` or ``name=(shape, dtype)``, all NaN until they are set.

    Source: the constructor of chainer.Link.
    """
    for name, value in {**(given or {}), **shapes}.items():
        is_pair = isinstance(value, (tuple, list)) and any(not isinstance(n, (int, np.integer)) for n in value)
        shape, dtype = value if is_pair else (value, np.float32)
        add_param(module, name, shape, dtype)


class Link(nn.Module):
    """A module with parameters of the given shapes: ``Link(w=(3, 4), b=((4,), 'float64'))``, NaN until they are set.

    Source: chainer.Link.
    """

    def __init__(self, **params: Any) -> None:
        super().__init__()
        add_params(self, params)


def copy_link(module: nn.Module, mode: str = "share") -> Any:
    """A copy: 'share' has parameters of its own on the same memory, 'copy' is deep, 'init' is deep and filled anew.

    Children are copied one by one, as Chainer does it: what two of them share (a tied weight, or a child that is held
    under two names) is theirs alone in the copy, and a plain list that names a child as well does not name its copy.

    Another mode raises ValueError, as does sharing a parameter that has no shape yet, or filling one anew whose
    initializer is not known. Source: chainer.Link.copy.
    """
    if mode not in ("init", "copy", "share"):
        raise ValueError(f"mode is 'init', 'copy' or 'share', not {mode!r}")
    if isinstance(vars(module).get("_layers"), list):
        return module.copy(mode)  # type: ignore[operator]  # a Sequential
    if mode == "share" or isinstance(module, nn.ModuleList):  # a ChainList deepens its children only
        result = _on_same_memory(module)
    else:
        result = deepcopy(module)
        if mode == "init":
            _fill_again(result, module)
    for name, child in result._modules.items():
        result._modules[name] = None if child is None else copy_link(child, mode)
    return result


def _on_same_memory(module: nn.Module) -> Any:
    """The module itself with tables of its own; its children are still the same."""
    result = copy_object(module)
    object.__setattr__(result, "_chainer_link_names", {})  # nobody holds it
    for name, param in module._parameters.items():
        if param is not None:
            if is_lazy(param):
                raise ValueError(f"parameter {name} has no shape yet and cannot be shared: call the model once before")
            result._parameters[name] = nn.Parameter(param.data, param.requires_grad)
    return result


def _fill_again(link: nn.Module, original: nn.Module) -> None:
    reset = vars(link).get("reset_parameters")
    if isinstance(reset, functools.partial):
        reset()
        return
    own = {name: p for name, p in link._parameters.items() if p is not None and not is_lazy(p)}
    if isinstance(link, ChainerLayer):
        for name, param in own.items():
            link._initializers[name](param)
        return
    statistics = {name: b.clone() for name, b in link._buffers.items() if b is not None}
    if own and type(link).__module__.startswith("torch.nn.modules") and type(link) is not nn.Module:
        initialize(link)
        for name, buffer in statistics.items():
            link._buffers[name].copy_(buffer)  # type: ignore[union-attr]
        return
    if own and _is_short_layer(link):
        link.reset_parameters()  # type: ignore[operator]
        return
    if isinstance(link, _BatchNorm):  # a class on torch's
        for name, param in own.items():
            nn.init.constant_(param, 1 if name == "weight" else 0)
        return
    for name, param in own.items():
        initializer = getattr(original._parameters[name], "initializer", None)
        if initializer is None:
            raise ValueError(f"the initializer of parameter {name} is not known")
        with torch.no_grad():
            initializer(param)


def _is_short_layer(link: nn.Module) -> bool:
    """Whether a module is a layer of PyTorch's that draws Chainer's first values itself."""
    bases = [base for base in type(link).__mro__ if base.__module__.startswith("torch.nn.modules")]
    return bases[0] is not nn.Module and "reset_parameters" in vars(type(link))


def link_device(module: nn.Module) -> torch.device:
    """Where the parameters and buffers of a module are; the CPU for one without. Source: chainer.Link.device."""
    return next((t.device for t in (*module.parameters(), *module.buffers())), torch.device("cpu"))
