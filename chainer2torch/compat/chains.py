"""Chain and ChainList as classes of their own, for code that makes or extends them directly."""
from typing import Any

import torch.nn as nn


class Chain(nn.Module):
    """A module with the given children: ``Chain(l1=..., l2=...)``; ``chain['l1']`` is ``chain.l1``.

    Source: chainer.Chain.
    """

    def __init__(self, **links: nn.Module) -> None:
        super().__init__()
        for name, link in links.items():
            add_link(self, name, link)

    def __getitem__(self, name: str) -> Any:
        if name not in self._modules:
            raise KeyError(name)
        return getattr(self, name)


class ChainList(nn.ModuleList):
    """A list of modules, given one by one: ``ChainList(a, b)``; slices are plain lists. Source: chainer.ChainList."""

    def __init__(self, *links: nn.Module) -> None:
        super().__init__(links)

    def add_link(self, link: nn.Module) -> None:
        """Adds a link at the end."""
        self.append(link)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


def add_link(module: nn.Module, name: str, link: nn.Module) -> None:
    """Registers a child; a name that is taken raises AttributeError, what is no module TypeError.

    Source: chainer.Chain.add_link.
    """
    if hasattr(module, name):
        raise AttributeError(f"cannot register a new link {name}: attribute exists")
    if not isinstance(link, nn.Module):
        raise TypeError("cannot register a non-link object as a child")
    setattr(module, name, link)
