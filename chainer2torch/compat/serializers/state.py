"""State in Chainer's snapshot layout: objects describe it with ``serialize(serializer)``, as Chainer's do.

``serializer(key, value)`` stores ``value`` under ``key`` and returns it, or returns the stored value when loading;
``serializer[name]`` is the serializer of a part, whose keys start with ``name/``.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.serializers.serializers import chainer_entries, load_entries
from chainer2torch.compat.serializers.state_io import StateReader, StateWriter


class SerializableEntries:
    """Mixin: ``_chainer_entries`` and ``_load_chainer_entries`` from the object's ``serialize`` method."""

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the state, key by key; see the module's description."""

    def _chainer_entries(self) -> dict[str, Any]:
        """The state as ``{key: array}`` in Chainer's layout."""
        writer = StateWriter()
        self.serialize(writer)
        return writer.entries

    def _load_chainer_entries(self, entries: Mapping[str, Any], strict: bool = True) -> None:
        """Restores what :meth:`_chainer_entries` gave, or what a Chainer file holds under the same keys."""
        self.serialize(StateReader(entries, strict=strict))


class SerializableState(SerializableEntries):
    """Mixin: ``state_dict`` and ``load_state_dict`` in Chainer's layout, too."""

    def state_dict(self) -> dict[str, Any]:
        """The state as ``{key: array}``, for ``torch.save``."""
        return self._chainer_entries()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` gave."""
        self._load_chainer_entries(state_dict)


def serialize_part(serializer: Any, part: Any) -> None:
    """Stores or restores a part of an object: one with ``serialize``, a module, or an optimizer of torch's.

    A module takes the keys that are its own; a missing one is an error, others are ignored, as in Chainer.
    """
    if hasattr(part, "serialize"):
        part.serialize(serializer)
    elif hasattr(serializer, "state"):
        _hand_on(serializer, part)
    elif isinstance(part, torch.nn.Module) and isinstance(serializer, StateReader):
        entries = {
            key: None if value is None or np.asarray(value).dtype == object and np.ndim(value) == 0 else value
            for key, value in serializer.entries.items()
        }
        load_entries(entries, part, serializer.path, serializer.strict, allow_extra=True)
    elif isinstance(part, torch.nn.Module):
        for key, value in chainer_entries(part).items():
            serializer(key, value)
    elif isinstance(part, torch.optim.Optimizer):
        _serialize_optimizer(serializer, part)
    elif hasattr(part, "state_dict"):
        _serialize_values(serializer, part)


def _hand_on(serializer: Any, part: Any) -> None:
    """Stores or restores a part by its ``state_dict``, with the serializer of objects that are saved so themselves."""
    if not hasattr(part, "state_dict"):
        return
    if not serializer.loads:
        serializer.state.update(part.state_dict())
        return
    state = serializer.state
    is_module = isinstance(part, torch.nn.Module)
    part.load_state_dict({key: state[key] for key in part.state_dict()} if is_module else state)


def _serialize_optimizer(serializer: Any, optimizer: torch.optim.Optimizer) -> None:
    """Stores or restores the state of an optimizer of torch's, as the bytes of a file of torch's."""
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    stored = serializer("state_dict", np.frombuffer(file.getvalue(), dtype=np.uint8))
    if isinstance(serializer, StateReader):
        state = torch.load(io.BytesIO(np.asarray(stored, dtype=np.uint8).tobytes()), weights_only=True)
        optimizer.load_state_dict(state)


def _serialize_values(serializer: Any, part: Any) -> None:
    """Stores or restores the values of an iterator's ``state_dict``, each under Chainer's key; none for None."""
    state = {key: (key.lstrip("_"), value) for key, value in part.state_dict().items()}
    if isinstance(serializer, StateReader):
        known = {key: serializer(*pair) for key, pair in state.items() if pair[1] is not None or pair[0] in serializer}
        part.load_state_dict({key: known.get(key, value) for key, (_, value) in state.items()})
        return
    for name, value in state.values():
        if value is not None:
            serializer(name, value)
