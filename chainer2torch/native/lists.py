"""Lists of modules."""

from __future__ import annotations

from typing import Any

import torch.nn as nn


class ChainList(nn.ModuleList):
    """nn.ModuleList that takes its modules one by one, and whose slices are lists. Source: chainer.ChainList."""

    def __init__(self, *modules: nn.Module) -> None:
        super().__init__()
        for module in modules:  # not by +=, which a subclass may define anew
            self.add_module(str(len(self)), module)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def pop(self, key: int = -1) -> nn.Module:  # type: ignore[override]
        """Removes the module at a position and returns it."""
        return super().pop(key)

    def index(self, module: nn.Module, *bounds: int) -> int:
        """The first position of a module."""
        return list(self).index(module, *bounds)

    def count(self, module: nn.Module) -> int:
        """How often a module is in the list."""
        return list(self).count(module)

    def remove(self, module: nn.Module) -> None:
        """Removes a module."""
        del self[list(self).index(module)]

    def reverse(self) -> None:
        """Turns the order around."""
        for position, module in enumerate(list(self)[::-1]):
            self[position] = module

    def clear(self) -> None:
        """Removes all modules."""
        del self[:]


class FunctionModule(nn.Module):
    """A function as a module, for nn.Sequential. Source: chainer.Sequential, which takes functions as they are."""

    _chainer_function = True  # files of Chainer's have no place for it

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, input: Any) -> Any:
        """What the function gives."""
        return self.function(input)


def as_module(layer: Any) -> nn.Module:
    """A module as it is, a function as a module. Source: chainer.Sequential."""
    return layer if isinstance(layer, nn.Module) else FunctionModule(layer)
