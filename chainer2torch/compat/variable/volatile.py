"""Volatile variables of Chainer version 1: what is computed from them keeps no graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from chainer2torch.compat.backend.devices import _as_tensor

_FLAGS: Mapping[Any, bool | None] = {
    "on": True,
    "ON": True,
    True: True,
    "off": False,
    "OFF": False,
    False: False,
    "auto": None,
    "AUTO": None,
    None: None,
}


class VolatileFlag:
    """ON, OFF or AUTO. It equals its spellings: ``'on'``, ``'ON'`` and True; ``'off'`` and False; ``'auto'`` and None.

    Args:
        name: one of these, or a flag.
    Raises:
        ValueError: there is no such flag.
    Source: chainer.Flag of version 1.
    """

    def __init__(self, name: Any) -> None:
        if not isinstance(name, VolatileFlag) and name not in _FLAGS:
            raise ValueError(f"volatile is 'on', 'off' or 'auto', not {name!r}")
        self.value: bool | None = name.value if isinstance(name, VolatileFlag) else _FLAGS[name]

    def __bool__(self) -> bool:
        if self.value is None:
            raise ValueError("AUTO is neither true nor false")
        return self.value

    def __eq__(self, other: object) -> bool:
        return self.value is VolatileFlag(other).value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return "AUTO" if self.value is None else "ON" if self.value else "OFF"


class VolatileTensor(torch.Tensor):
    """A tensor without a graph; neither has what is computed from it, whatever else takes part.

    Its array (``x.detach()``, ``x.data``) is an ordinary tensor. New code says ``with torch.no_grad():`` instead.

    Source: a Variable of Chainer version 1 with ``volatile='on'``.
    """

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(_starts_a_graph(value) for value in _tensors_in((*args, *kwargs.values()))):
            raise ValueError("a volatile tensor meets one that is not: in Chainer ON and OFF cannot be mixed")
        with torch.no_grad():
            result = super().__torch_function__(func, types, args, kwargs)  # type: ignore[no-untyped-call]
        return result.as_subclass(torch.Tensor) if func in (torch.Tensor.detach, _DATA) else result

    def __deepcopy__(self, memo: dict[int, Any]) -> VolatileTensor:
        return self.detach().clone().as_subclass(VolatileTensor)


_DATA = torch.Tensor.data.__get__  # type: ignore[attr-defined]


_AUTO = "_chainer_auto"


def _tensors_in(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _starts_a_graph(tensor: torch.Tensor) -> bool:
    """Whether it is a variable of which a gradient is wanted: not a parameter, whose flag is AUTO."""
    return (
        not isinstance(tensor, (VolatileTensor, torch.nn.Parameter))
        and tensor.requires_grad
        and tensor.is_leaf
        and not hasattr(tensor, _AUTO)
    )


def volatile_variable(data: Any, volatile: Any, grad: Any = None) -> torch.Tensor:
    """A tensor that shares the memory of an array: a :class:`VolatileTensor` for ON, else the start of a graph.

    Args:
        data: a tensor or ndarray of any shape and dtype.
        volatile: the flag: ``'on'``, ``'off'``, ``'auto'``, a bool or a :class:`VolatileFlag`.
        grad: its first gradient, an array of the same shape; None for none.
    Raises:
        ValueError: there is no such flag.
    Source: chainer.Variable of version 1.
    """
    flag = VolatileFlag(volatile)
    on = flag.value is True
    result = (data if isinstance(data, torch.Tensor) else torch.as_tensor(_as_tensor(data))).detach()
    if on:
        result = result.as_subclass(VolatileTensor)
    else:
        result.requires_grad_(result.is_floating_point())
        if flag.value is None:
            setattr(result, _AUTO, None)  # it goes with either
    if grad is not None:
        result.grad = torch.as_tensor(grad, device=result.device)
    return result


def is_volatile(x: torch.Tensor) -> VolatileFlag:
    """The flag of a tensor: ON or OFF. Source: chainer.Variable.volatile of version 1."""
    return VolatileFlag(isinstance(x, VolatileTensor))
