"""The state of objects whose ``serialize(serializer)`` says what is saved of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from pytorch_pfn_extras.training.extension import Extension


class Serializer:
    """``serializer(key, value)`` stores a value in a dictionary, or gives the stored one.

    Source: chainer.Serializer, chainer.Deserializer.
    """

    def __init__(self, state: dict[str, Any], loads: bool):
        self.state, self.loads = state, loads

    def __getitem__(self, key: str) -> Serializer:
        return Serializer(self.state.setdefault(key, {}), self.loads)

    def __call__(self, key: str, value: Any) -> Any:
        if self.loads:
            return np.asarray(self.state[key]) if isinstance(value, np.ndarray) else self.state[key]
        self.state[key] = torch.tensor(value) if isinstance(value, np.ndarray) else value
        return value


def state_of(x: Any) -> dict[str, Any]:
    """What ``x.serialize`` stores; {} where there is none. Source: chainer.serializers.DictionarySerializer."""
    state: dict[str, Any] = {}
    if hasattr(x, "serialize"):
        x.serialize(Serializer(state, loads=False))
    return state


def load_state_of(x: Any, state: dict[str, Any]) -> None:
    """Gives an object what ``state_of`` stored. Source: chainer.serializers.NpzDeserializer."""
    if hasattr(x, "serialize"):
        x.serialize(Serializer(state, loads=True))


class SavedExtension(Extension):
    """An Extension of which ``serialize`` says what is saved. Source: chainer.training.Extension."""

    def state_dict(self) -> dict[str, Any]:
        return state_of(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        load_state_of(self, state)
