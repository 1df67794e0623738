"""Chain and ChainList as classes of their own, for code that makes or extends them directly."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch.nn as nn


class Chain(nn.Module):
    """A module with the given children: ``Chain(l1=..., l2=...)``; ``chain['l1']`` is ``chain.l1``.

    Source: chainer.Chain.
    """

    def __init__(self, **links: nn.Module) -> None:
        super().__init__()
        add_links(self, **links)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def chain_item(chain: Any, name: str) -> Any:
    """``chain[name]`` of a Chain, which is a module now: its child of that name; of all else what its subscripts give.

    Source: chainer.Chain (indexed).
    """
    indexed = not isinstance(chain, nn.Module) or hasattr(type(chain), "__getitem__")
    return chain[name] if indexed else getattr(chain, name)


class ChainList(nn.ModuleList):
    """A list of modules, given one by one: ``ChainList(a, b)``; slices are plain lists. Source: chainer.ChainList."""

    def __init__(self, *links: nn.Module) -> None:
        super().__init__()
        for link in links:  # not by +=, which a subclass may define anew
            self.add_module(str(len(self)), link)

    def add_link(self, link: nn.Module) -> None:
        """Adds a link at the end."""
        self.append(link)

    def append(self, value: nn.Module) -> Any:
        """Adds a link at the end."""
        return super().append(value)

    def extend(self, values: Iterable[nn.Module]) -> Any:
        """Adds links at the end."""
        return super().extend(values)

    def insert(self, index: int, link: nn.Module) -> None:
        """Puts a link at a position; those behind it move on."""
        super().insert(index, link)

    def pop(self, index: int = -1) -> nn.Module:  # type: ignore[override]
        """Removes the link at a position and returns it; IndexError beyond the end."""
        link: nn.Module = self[index]
        del self[index]
        return link

    def remove(self, value: nn.Module) -> None:
        """Removes a link; ValueError if it is not there."""
        del self[self.index(value)]

    def reverse(self) -> None:
        """Turns the order round."""
        for i, link in enumerate(list(self)[::-1]):
            self[i] = link

    def index(self, value: nn.Module, start: int = 0, stop: int | None = None) -> int:
        """The position of a link; ValueError if it is not there."""
        return list(self).index(value, start, len(self) if stop is None else stop)

    def count(self, value: nn.Module) -> int:
        """How often a link occurs."""
        return list(self).count(value)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            links = list(self)
            links[index] = value
            del self[:]
            self.extend(links)
        else:
            super().__setitem__(index, value)


class _ChainTest(type):
    def __subclasscheck__(cls, other: type) -> bool:
        if not issubclass(other, nn.Module) or issubclass(other, (nn.ModuleList, nn.Sequential)):
            return False
        if issubclass(other, nn.ModuleDict):  # Chain(name=link) in the native style
            return True
        theirs = next(base for base in other.__mro__ if base.__module__.startswith("torch.nn."))
        return getattr(other, "_is_chain", theirs is nn.Module and other is not nn.Module)

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls)


class _ListTest(_ChainTest):
    def __subclasscheck__(cls, other: type) -> bool:
        lists = issubclass(other, (nn.ModuleList, nn.Sequential)) or getattr(other, "_is_list", False)
        return bool(lists) or super().__subclasscheck__(other)


class AnyChain(metaclass=_ChainTest):
    """``isinstance(module, AnyChain)``: whether the module stands for a Chain of Chainer's.

    True for modules of one's own and for layers that are made of layers with names; false for lists, for ``Sequential``
    and for single layers. Source: ``isinstance(link, chainer.Chain)``.
    """


class AnyChainOrList(metaclass=_ListTest):
    """``isinstance(module, AnyChainOrList)``: whether the module stands for a Chain or a ChainList of Chainer's.

    False for single layers. Source: ``isinstance(link, (chainer.Chain, chainer.ChainList))``.
    """


def add_links(module: nn.Module, given: Mapping[str, nn.Module] | None = None, /, **links: nn.Module) -> None:
    """Registers children by name, as ``add_link`` does. Source: the constructor of chainer.Chain."""
    for name, link in {**(given or {}), **links}.items():
        add_link(module, name, link)


def add_link(module: nn.Module, name: str, link: nn.Module) -> None:
    """Registers a child; a name that is taken raises AttributeError, what is no module TypeError.

    Source: chainer.Chain.add_link.
    """
    if hasattr(module, name):
        raise AttributeError(f"cannot register a new link {name}: attribute exists")
    if not isinstance(link, nn.Module):
        raise TypeError("cannot register a non-link object as a child")
    setattr(module, name, link)
