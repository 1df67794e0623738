"""Chainer's Sequential: links and plain functions in one list."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import torch.nn as nn

from chainer2torch.compat.links.chains import ChainList
from chainer2torch.compat.links.link_tree import copy_link, copyparams


class Sequential(ChainList):
    """Calls its layers (modules or functions) one after the other; a tuple becomes the arguments of the next.

    A list of layers: indexing and slicing, ``append``, ``insert``, ``extend``, ``pop``, ``remove``, ``+``. Its modules
    are registered as Chainer 7 counts them in files (see ``insert``), functions are not. Calling an empty one raises
    RuntimeError. Source: chainer.Sequential.
    """

    _is_chain: ClassVar[bool] = False
    __repr__ = nn.Module.__repr__

    def __init__(self, *layers: Callable[..., Any]) -> None:
        nn.Module.__init__(self)  # that of a list would add its modules as a list does
        self._layers: list[Any] = []
        self.extend(layers)

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, i: Any) -> Any:
        return self._layers[i]

    def __setitem__(self, i: int, layer: Callable[..., Any]) -> None:
        if i >= len(self):
            raise ValueError(f"{i} should be less than {len(self)}")
        _check_callable(layer)
        if self._layers[i] is not layer:
            del self[i]
            self.insert(i, layer)

    def __delitem__(self, i: int) -> None:  # type: ignore[override]
        layer = self._layers.pop(i)
        if isinstance(layer, nn.Module):
            links = list(self._modules.values())
            links.remove(layer)
            self._register(links)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._layers)

    def __reversed__(self) -> Iterator[Any]:
        layers: Iterator[Any] = reversed(self._layers)
        return layers

    def __contains__(self, item: Any) -> bool:
        return item in self._layers

    def __add__(self, other: "Sequential") -> "Sequential":  # type: ignore[override]
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: "Sequential") -> "Sequential":  # type: ignore[override]
        _check_sequential(other)
        self.extend(other)
        return self

    def forward(self, *x: Any) -> Any:
        if not self._layers:
            raise RuntimeError("Sequential has no layers")
        value: Any = x
        for layer in self._layers:
            value = layer(*value) if isinstance(value, tuple) else layer(value)
        return value

    def append(self, layer: Callable[..., Any]) -> None:  # type: ignore[override]
        """Adds a layer at the end."""
        self.insert(len(self), layer)

    def extend(self, sequential: Iterable[Callable[..., Any]]) -> None:  # type: ignore[override]
        """Adds layers at the end."""
        for layer in list(sequential):
            self.append(layer)

    def insert(self, i: int, layer: Callable[..., Any]) -> None:
        """Puts a layer at position ``i``; IndexError beyond the ends, ValueError for what cannot be called.

        Chainer counts the links of a Sequential apart from the order in which they run: a new one comes right behind
        the count of the first. The names of the modules (hence keys in files) follow that.
        """
        n = len(self._layers)
        if not -n <= i < n + 1:
            raise IndexError(f"index out of range: {i}")
        i = i + n if i < 0 else i
        _check_callable(layer)
        self._layers.insert(i, layer)
        if isinstance(layer, nn.Module):
            links: list[Any] = list(self._modules.values())
            before = [j for j in range(i) if isinstance(self._layers[j], nn.Module)]
            links.insert(0 if i == 0 else (before[0] if before else 0) + 1, layer)
            self._register(links)

    def _register(self, links: list[Any]) -> None:
        self._modules.clear()
        self._modules.update((str(i), link) for i, link in enumerate(links))

    def pop(self, i: int = -1) -> Any:  # type: ignore[override]
        """Removes the layer at position ``i`` and returns it."""
        layer = self._layers[i]
        del self[i]
        return layer

    def remove(self, layer: Any) -> None:
        """Removes a layer; ValueError if it is not there."""
        if layer not in self:
            raise ValueError(f"there is no layer {layer}")
        del self[self.index(layer)]

    def remove_by_layer_type(self, type_name: str) -> None:
        """Removes all layers whose class or function has this name (as the migrated code calls it)."""
        for layer in list(self._layers):
            if _type_name(layer) == type_name:
                self.remove(layer)

    def count_by_layer_type(self, type_name: str) -> int:
        """How many layers are of a class or function of this name (as the migrated code calls it)."""
        return sum(_type_name(layer) == type_name for layer in self._layers)

    def clear(self) -> None:
        """Removes all layers."""
        self._layers.clear()
        self._modules.clear()

    def index(self, layer: Any, start: int | None = None, end: int | None = None) -> int:
        """The position of a layer, counted from ``start``; ValueError if it is not there."""
        return self._layers[start:end].index(layer)

    def count(self, layer: Any) -> int:
        """How often a layer occurs."""
        return self._layers.count(layer)

    def copy(self, mode: str = "share") -> "Sequential":
        """A new Sequential with copies of the layers; see ``copy_link`` for the modes."""
        return Sequential(
            *(copy_link(layer, mode) if isinstance(layer, nn.Module) else copy.copy(layer) for layer in self._layers)
        )

    def copyparams(self, link: "Sequential", copy_persistent: bool = True) -> None:
        """Copies the values of another Sequential, layer by layer in the order in which they run."""
        _check_sequential(link)
        for layer, other in zip(self._layers, link, strict=False):
            if isinstance(layer, nn.Module):
                copyparams(layer, other, copy_persistent)

    def flatten(self) -> "Sequential":
        """A new Sequential with the layers of nested ones in their place."""
        flat = Sequential()
        for layer in self._layers:
            if isinstance(layer, Sequential):
                flat.extend(layer.flatten())
            else:
                flat.append(layer)
        return flat


def repeat_link(module: nn.Module, n_repeat: int, mode: str = "init") -> Sequential:
    """A Sequential of ``n_repeat`` copies (by default filled anew). Source: chainer.Link.repeat."""
    copies = [copy_link(module, mode) for _ in range(max(n_repeat, 0))]
    return Sequential(*copies)


def _check_callable(layer: Any) -> None:
    if not callable(layer):
        raise ValueError(f"the layers of a Sequential are called, and {layer} cannot be")


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"expected a Sequential, not {type(other).__name__}")


def _type_name(layer: Any) -> str:
    return type(layer).__name__ if isinstance(layer, nn.Module) else layer.__name__
