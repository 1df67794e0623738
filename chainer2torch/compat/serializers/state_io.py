"""What hands stored state to an object's ``serialize(serializer)`` and takes it from there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


class StateWriter:
    """Collects the state of an object as ``{key: array}``. Source: chainer.serializers.DictionarySerializer."""

    loads = False

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

    loads = True

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
            TypeError: a number would lose digits, as a fraction in the place of an integer does.
        """
        full = self.path + key.lstrip("/")
        if full not in self.entries:
            if not self.strict:
                return value
            raise KeyError(f"{full} is not in the file; it has {_some_keys(self.entries, self.path)}")
        if isinstance(self.entries[full], Exception):
            raise self.entries[full]
        stored = np.asarray(self.entries[full])
        if stored.dtype == object:
            if stored.ndim == 0 and stored[()] is None:
                return None
            raise ValueError(f"{full} holds Python objects, which are not loaded")
        if isinstance(value, (torch.Tensor, np.ndarray)) and tuple(value.shape) != stored.shape:
            raise ValueError(f"{full} has shape {stored.shape}, expected {tuple(value.shape)}")
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                value.copy_(torch.from_numpy(np.array(stored)).reshape(value.shape))
            return value
        if isinstance(value, np.ndarray):
            np.copyto(value, stored)
            return value
        if value is None:
            return stored if stored.ndim else stored[()].item() if stored.dtype.kind in "biuf" else stored[()]
        integers = type(value) is int and stored.dtype.kind in "iu"  # of any length
        if stored.dtype.kind in "iufc" and not integers and not np.can_cast(stored.dtype, type(value)):
            raise TypeError(f"{full} has dtype {stored.dtype}, which is not safely read as {type(value).__name__}")
        return type(value)(stored.item())


def _some_keys(entries: Mapping[str, Any], path: str) -> str:
    keys = list(itertools.islice((key for key in entries if key.startswith(path)), 5))
    return ", ".join(keys) + ", ..." if keys else f"no key under {path or '/'}"
