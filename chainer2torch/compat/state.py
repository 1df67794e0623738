"""State in Chainer's snapshot layout: objects describe it with ``serialize(serializer)``, as Chainer's do.

``serializer(key, value)`` stores ``value`` under ``key`` and returns it, or returns the stored value when loading;
``serializer[name]`` is the serializer of a part, whose keys start with ``name/``.
"""
from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.serializers import chainer_entries, load_entries


class StateWriter:
    """Collects the state of an object as ``{key: array}``. Source: chainer.serializers.DictionarySerializer."""

    def __init__(self, entries: dict[str, Any] | None = None, path: str = "") -> None:
        self.entries: dict[str, Any] = {} if entries is None else entries
        self.path = path

    def __getitem__(self, name: str) -> StateWriter:
        return StateWriter(self.entries, self.path + name.strip("/") + "/")

    def __call__(self, key: str, value: Any) -> Any:
        """Stores ``value`` and returns it. Tensors are stored as NumPy arrays, None as an object array."""
        array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
        self.entries[self.path + key.lstrip("/")] = array
        return value


class StateReader:
    """Hands out the state that is stored as ``{key: array}``. Source: chainer.serializers.NpzDeserializer.

    Args:
        strict: a missing key raises KeyError; otherwise the old value stays.
    """

    def __init__(self, entries: Mapping[str, Any], path: str = "", strict: bool = True) -> None:
        self.entries = entries
        self.path = path
        self.strict = strict

    def __getitem__(self, name: str) -> StateReader:
        return StateReader(self.entries, self.path + name.strip("/") + "/", self.strict)

    def __contains__(self, key: str) -> bool:
        return self.path + key.lstrip("/") in self.entries

    def __call__(self, key: str, value: Any) -> Any:
        """The stored value in the type of ``value``: arrays and tensors are filled in place, numbers converted.

        Raises:
            KeyError: the key is missing and the reader is strict.
            ValueError: the stored array has another shape.
        """
        full = self.path + key.lstrip("/")
        if full not in self.entries:
            if not self.strict:
                return value
            raise KeyError(f"{full} is not in the file; it has {_some_keys(self.entries, self.path)}")
        stored = np.asarray(self.entries[full])
        if stored.dtype == object:
            if stored.ndim == 0 and stored[()] is None:
                return None
            raise ValueError(f"{full} holds Python objects, which are not loaded")
        if isinstance(value, (torch.Tensor, np.ndarray)) and tuple(value.shape) != stored.shape:
            raise ValueError(f"{full} has shape {stored.shape}, expected {tuple(value.shape)}")
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                value.copy_(torch.from_numpy(np.ascontiguousarray(stored)).reshape(value.shape))
            return value
        if isinstance(value, np.ndarray):
            np.copyto(value, stored)
            return value
        if value is None:
            return stored if stored.ndim else stored[()].item() if stored.dtype.kind in "biuf" else stored[()]
        return type(value)(stored.item())


def _some_keys(entries: Mapping[str, Any], path: str) -> str:
    keys = list(itertools.islice((key for key in entries if key.startswith(path)), 5))
    return ", ".join(keys) + ", ..." if keys else f"no key under {path or '/'}"


class SerializableState:
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

    def state_dict(self) -> dict[str, Any]:
        """The state as ``{key: array}``, for ``torch.save``."""
        return self._chainer_entries()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restores what :meth:`state_dict` gave."""
        self._load_chainer_entries(state_dict)


def serialize_part(serializer: Any, part: Any) -> None:
    """Stores or restores a part of an object: one with ``serialize``, or a module.

    A module takes the keys that are its own; a missing one is an error, others are ignored, as in Chainer.
    """
    if hasattr(part, "serialize"):
        part.serialize(serializer)
    elif isinstance(part, torch.nn.Module) and isinstance(serializer, StateReader):
        entries = {key: None if value is None or np.asarray(value).dtype == object and np.ndim(value) == 0 else value
                   for key, value in serializer.entries.items()}
        load_entries(entries, part, serializer.path, serializer.strict, allow_extra=True)
    elif isinstance(part, torch.nn.Module):
        for key, value in chainer_entries(part).items():
            serializer(key, value)
