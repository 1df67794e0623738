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

from chainer2torch.compat.links.link_slots import chainer_slots
from chainer2torch.compat.serializers.state_io import StateReader


def serialize_parameter_states(serializer: Any, optimizer: Any) -> None:
    """Stores or restores the state of every parameter of ``optimizer.target`` and how often it was updated.

    Raises:
        KeyError: the optimizer's state is not in the file.
    """
    filled = [param for param in optimizer.target.parameters() if not is_lazy(param)]
    slots = _slots_of_parameters(optimizer.target, filled)
    reading = isinstance(serializer, StateReader)
    # in Chainer's version 1 the optimizer alone counted
    counted = not reading or any("t" in serializer[slot.key] for slot, _ in slots) or "t" not in serializer
    for slot, param in slots:
        rule = getattr(param, "update_rule", None)
        count = optimizer.t if not counted else serializer[slot.key]("t", optimizer.t if rule is None else rule.t)
        if reading and rule is not None:
            rule.t = int(count)
    if not optimizer.t:
        return  # no update yet: nothing to remember
    if reading and any(
        param is None and name in serializer[slot.key] for slot, param in slots for name in optimizer._state_names
    ):
        raise ValueError(
            "the file has the optimizer's state of parameters that have no shape yet: load the model "
            "before its optimizer"
        )
    states = {}
    for slot, param in slots:
        if param is not None and param not in states:
            states[param] = (
                _state_to_read(serializer[slot.key], optimizer, param) if reading else _state_to_write(optimizer, param)
            )
    for name in dict.fromkeys(name for state in states.values() for name in state):
        _serialize_state(serializer, name, slots, {param: state for param, state in states.items() if name in state})


def _state_to_write(optimizer: Any, param: Any) -> dict[str, Any]:
    """The state of a parameter, empty before its first update."""
    rule = getattr(param, "update_rule", None)
    if rule is not None and rule._has_own_formula:
        return rule.state or {}
    state = optimizer.state.get(param, {})
    return {name: state[name] for name in optimizer._state_names if state.get(name) is not None}


def _state_to_read(serializer: StateReader, optimizer: Any, param: Any) -> dict[str, Any]:
    """The state of a parameter as it begins, to be filled; empty when a disabled parameter has none in the file."""
    rule = getattr(param, "update_rule", None)
    if rule is not None and rule._has_own_formula:
        fresh = rule._own_state is None
        state: dict[str, Any] = rule._initial_state(param) if fresh else rule._own_state
        if rule.enabled or all(name in serializer for name in state):
            rule._own_state = state
            return state
        return {}
    names = optimizer._state_names
    if rule is not None and not rule.enabled and not all(name in serializer for name in names):
        return {}
    state = optimizer._state_of(param, param)
    return {name: state[name] for name in names}


def _serialize_state(
    serializer: Any, name: str, slots: list[tuple[Any, Any]], states: dict[Any, dict[str, Any]]
) -> None:
    """Stores or restores one array of the states, for every parameter that has it."""
    reading = isinstance(serializer, StateReader)
    like_parameter = {
        param: state[name]
        for param, state in states.items()
        if isinstance(state[name], torch.Tensor) and state[name].shape == param.shape
    }
    with _holding(list(like_parameter), list(like_parameter.values())):
        for slot, param in slots:
            if param in like_parameter:
                stored = serializer[slot.key](name, slot.read().copy())
                if reading:
                    slot.write(stored)
    for slot, param in slots:
        if param in states and param not in like_parameter:  # a number, or an array of another shape
            states[param][name] = serializer[slot.key](name, states[param][name])


def _slots_of_parameters(module: torch.nn.Module, params: list[Any]) -> list[tuple[Any, Any]]:
    """The slots that belong to parameters, each with its parameter (None for one that has no shape yet)."""
    slots = list(chainer_slots(module))
    followed = [slot for slot, changes in zip(slots, _follow_parameters(slots, params), strict=True) if changes]
    # a slot is a part of one parameter: each bit of the parameters' numbers is shown in turn
    numbers = [0] * len(followed)
    for bit in range(len(params).bit_length()):
        with _holding(params, [torch.full_like(p, (i >> bit) & 1) for i, p in enumerate(params)]):
            for i, slot in enumerate(followed):
                value = slot.read()
                numbers[i] |= bool(value is not None and value.any()) << bit
    return [
        (slot, None if slot.read() is None else params[number]) for slot, number in zip(followed, numbers, strict=True)
    ]


def _follow_parameters(slots: list[Any], params: list[torch.Tensor]) -> list[bool]:
    """Which slots belong to parameters: those whose content changes with them (or who have no shape yet)."""
    readings = []
    for value in (0.0, 1.0):
        with _holding(params, [torch.full_like(param, value) for param in params]):
            readings.append([None if (array := slot.read()) is None else array.copy() for slot in slots])
    # attributes of a module (which have no dtype of their own) may be None too
    return [
        slot.dtype is not None if a is None else a.shape == b.shape and bool((a != b).any())
        for slot, a, b in zip(slots, *readings, strict=True)
    ]


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
