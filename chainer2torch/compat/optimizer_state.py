"""The state of an optimizer in the layout of Chainer's snapshots: ``t``, ``epoch``, ``predictor/l1/W/m``...

The state arrays of a parameter have its layout. So they are brought into Chainer's layout (and back) by the code that
does this for the weights: it reads and writes the model while each parameter holds its state array.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from chainer2torch.compat.link_slots import chainer_slots
from chainer2torch.compat.state import StateReader


def serialize_parameter_states(serializer: Any, optimizer: Any) -> None:
    """Stores or restores the state of every parameter of ``optimizer.target`` and how often it was updated.

    Raises:
        KeyError: the optimizer's state is not in the file.
    """
    slots = list(chainer_slots(optimizer.target))
    filled = [param for param in optimizer.target.parameters() if not is_lazy(param)]
    slots = [slot for slot, changes in zip(slots, _follow_parameters(slots, filled), strict=True) if changes]
    reading = isinstance(serializer, StateReader)
    for slot in slots:
        serializer[slot.key]("t", optimizer.t)
    if not optimizer.t or not optimizer._state_names:
        return  # no update yet, or one that remembers nothing
    if reading and any(slot.read() is None and optimizer._state_names[0] in serializer[slot.key] for slot in slots):
        raise ValueError("the file has the optimizer's state of parameters that have no shape yet: load the model "
                         "before its optimizer")
    states = [optimizer._state_of(param, param) for param in filled]
    for name in optimizer._state_names:
        with _holding(filled, [state[name] for state in states]):
            for slot in slots:
                value = slot.read()
                if value is not None:
                    stored = serializer[slot.key](name, value.copy())
                    if reading:
                        slot.write(stored)


def _follow_parameters(slots: list[Any], params: list[torch.Tensor]) -> list[bool]:
    """Which slots belong to parameters: those whose content changes with them (or who have no shape yet)."""
    readings = []
    for value in (0.0, 1.0):
        with _holding(params, [torch.full_like(param, value) for param in params]):
            readings.append([None if (array := slot.read()) is None else array.copy() for slot in slots])
    # attributes of a module (which have no dtype of their own) may be None too
    return [slot.dtype is not None if a is None else a.shape == b.shape and bool((a != b).any())
            for slot, a, b in zip(slots, *readings, strict=True)]


@contextlib.contextmanager
def _holding(params: list[torch.Tensor], values: list[torch.Tensor]) -> Iterator[None]:
    """A block in which the parameters' memory is that of ``values``."""
    kept = [param.data for param in params]
    try:
        for param, value in zip(params, values, strict=True):
            param.data = value
        yield
    finally:
        for param, data in zip(params, kept, strict=True):
            param.data = data


def chainer_named_arrays(module: torch.nn.Module, attribute: str) -> list[tuple[str, torch.Tensor]]:
    """The parameters of a module (or their gradients) as flat CPU tensors with Chainer's keys, sorted by key.

    Args:
        attribute: ``'data'`` or ``'grad'``.
    Raises:
        AttributeError: a gradient is missing.
    """
    params: list[Any] = [param for param in module.parameters() if not is_lazy(param)]
    slots = list(chainer_slots(module))
    slots = [slot for slot, changes in zip(slots, _follow_parameters(slots, params), strict=True) if changes]
    values = [param.data if attribute == "data" else param.grad for param in params]
    if any(value is None for value in values):
        raise AttributeError("a parameter has no gradient")
    with _holding(params, values):
        arrays = [(slot.key, slot.read()) for slot in slots]
    return [(key, torch.from_numpy(array.copy()).reshape(-1)) for key, array in sorted(arrays) if array is not None]
