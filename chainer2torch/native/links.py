"""Modules walked as Chainer walks links: in its order, with its paths and names (``/l1/W``)."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.parameter import is_lazy


def namedparams(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """All parameters with their paths in Chainer, sorted by name at every level; one that is held twice comes twice.

    Source: chainer.Link.namedparams.
    """
    names = _parameter_names(module)
    own = {names.get(name, name): param for name, param in module._parameters.items() if param is not None}
    yield from ((f"/{name}", own[name]) for name in sorted(own))
    for name, child in named_children(module):
        yield from ((f"/{name}{path}", param) for path, param in namedparams(child))


def params(module: nn.Module) -> Iterator[nn.Parameter]:
    """All parameters in Chainer's order. Source: chainer.Link.params."""
    return (param for _, param in namedparams(module))


def params_of(x: Any) -> Any:
    """:func:`params` of a module, ``x.params()`` of any other object. Source: chainer.Link.params."""
    return params(x) if isinstance(x, nn.Module) else x.params()


def parameter_name(module: nn.Module, param: torch.Tensor) -> str:
    """What a parameter of a module is called in its link: ``W``, ``gamma``; StopIteration for one of another module.

    Source: chainer.Parameter.name.
    """
    return next(path for path, held in namedparams(module) if held is param).rpartition("/")[2]


def name_in_hook(rule: Any, param: torch.Tensor) -> str:
    """What the parameter that a hook is called for is named in its link: the optimizer's model tells, or its setup did.

    Source: chainer.Parameter.name.
    """
    told = set(vars(param).get("_chainer_names", {}).values())  # by an optimizer of Chainer's interface
    if len(told) > 1:
        raise AttributeError(f"several modules hold this parameter, as {sorted(told)}")
    return told.pop() if told else parameter_name(rule.target, param)


def children(module: nn.Module) -> Iterator[nn.Module]:
    """The child links in Chainer's order: by name, in lists by position. Source: chainer.Link.children."""
    return (child for _, child in named_children(module))


def child_name(module: nn.Module, child: nn.Module) -> str:
    """What a child of a module is called there; ValueError where it has two names. Source: chainer.Link.name."""
    (name,) = (name for name, held in named_children(module) if held is child)
    return name


def namedlinks(module: nn.Module, skipself: bool = False) -> Iterator[tuple[str, nn.Module]]:
    """All links with their paths in Chainer (``/``, ``/l1``), depth first. Source: chainer.Link.namedlinks."""
    if not skipself:
        yield "/", module
    for name, child in named_children(module):
        yield f"/{name}", child
        yield from ((f"/{name}{path}", link) for path, link in namedlinks(child, skipself=True))


def links(module: nn.Module, skipself: bool = False) -> Iterator[nn.Module]:
    """All links, depth first. Source: chainer.Link.links."""
    return (link for _, link in namedlinks(module, skipself))


def shared_copy(module: nn.Module) -> nn.Module:
    """A copy of a module and its children, with parameters of its own on the same memory. Source: chainer.Link.copy."""
    if isinstance(vars(module).get("_layers"), list):  # a Sequential of Chainer's kind
        sequential: nn.Module = module.copy()  # type: ignore[operator]
        return sequential
    result = copy.copy(module)
    for table in ("_parameters", "_buffers", "_modules"):
        result.__dict__[table] = dict(vars(module)[table])
    result.__dict__["_chainer_link_names"] = {}  # where: link_name, name_of
    for name, param in module._parameters.items():
        if param is not None:
            if is_lazy(param):
                raise ValueError(f"parameter {name} has no shape yet: call the model once before")
            result._parameters[name] = nn.Parameter(param.data, param.requires_grad)
    for name, child in module._modules.items():
        result._modules[name] = None if child is None else shared_copy(child)
    return result


def copy_of(x: Any, mode: str = "share") -> Any:
    """What a ``copy`` of the program's own gives, else a copy of a module on the same memory.

    Source: chainer.Link.copy of what may be a link.
    """
    if hasattr(x, "copy"):
        return x.copy() if mode == "share" else x.copy(mode)
    if mode == "init":
        raise NotImplementedError(f"a copy with mode={mode!r}")
    return copy.deepcopy(x) if mode == "copy" else shared_copy(x)


def _parameter_names(module: nn.Module) -> dict[str, str]:
    if isinstance(module, (_NormBase, nn.LayerNorm, nn.GroupNorm)):
        return {"weight": "gamma", "bias": "beta"}
    if isinstance(module, (nn.Linear, nn.Bilinear, _ConvNd, nn.Embedding, nn.PReLU)):
        return {"weight": "W", "bias": "b"}
    return getattr(module, "_chainer_names", {})


def named_children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The child links with their names in Chainer, in its order."""
    children = [(name, child) for name, child in module._modules.items() if child is not None]
    if isinstance(module, nn.Sequential):  # where: Sequential
        return _counted([child for _, child in children])
    in_order = isinstance(module, nn.ModuleList) or all(name.isdigit() for name, _ in children)
    return children if in_order else sorted(children)


def link_children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """:func:`named_children`, for helpers that are shared with the faithful style. Source: chainer.Link.children."""
    return named_children(module)


def _counted(layers: list[nn.Module]) -> list[tuple[str, nn.Module]]:
    """The links of a Sequential as Chainer counts them: all behind the first in reverse order, without functions."""
    found: list[nn.Module] = []
    first = 0
    for position, layer in enumerate(layers):
        if not _is_function(layer):
            first = first if found else position
            found.insert(first + 1, layer)
    return [(str(i), layer) for i, layer in enumerate(found)]


def _is_function(layer: nn.Module) -> bool:
    plain = type(layer).__module__.startswith("torch.nn.modules") and not isinstance(
        layer, (nn.Sequential, nn.ModuleList)
    )
    return (plain or hasattr(layer, "_chainer_function")) and not layer.state_dict()


@contextlib.contextmanager
def init_scope(module: nn.Module) -> Iterator[None]:
    """A block in which a module is :func:`within_init_scope`; what is assigned to it is registered everywhere.

    Source: chainer.Link.init_scope.
    """
    outer = within_init_scope(module)
    module.__dict__["_within_init_scope"] = True
    try:
        yield
    finally:
        module.__dict__["_within_init_scope"] = outer


def within_init_scope(module: nn.Module) -> bool:
    """Whether a module is in a block of :func:`init_scope`. Source: chainer.Link.within_init_scope."""
    return bool(module.__dict__.get("_within_init_scope", False))
