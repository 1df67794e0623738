"""The state of objects that say in ``serialize(serializer)`` what is saved of them, as a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class Serializer:
    """What ``serialize`` gets: ``serializer(key, value)`` stores a value, or gives the stored one.

    Source: chainer.Serializer, chainer.Deserializer.
    """

    def __init__(self, state: dict[str, Any], loads: bool = False) -> None:
        self.state, self.loads = state, loads

    def __getitem__(self, key: str) -> Serializer:
        return Serializer(self.state.setdefault(key, {}), self.loads)

    def __call__(self, key: str, value: Any) -> Any:
        if not self.loads:
            self.state[key] = torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value
            return value
        stored = self.state[key]
        return np.asarray(stored) if isinstance(value, np.ndarray) else stored


def state_of(x: Any) -> dict[str, Any]:
    """What an object saves of itself; {} where it says nothing. Source: chainer.serializers.DictionarySerializer."""
    state: dict[str, Any] = {}
    if hasattr(x, "serialize"):
        x.serialize(Serializer(state))
    elif hasattr(x, "state_dict"):
        state = x.state_dict()
    return state


def load_state_of(x: Any, state: dict[str, Any]) -> None:
    """Gives an object what ``state_of`` saved. Source: chainer.serializers.NpzDeserializer."""
    if hasattr(x, "serialize"):
        x.serialize(Serializer(state, loads=True))
    elif hasattr(x, "load_state_dict"):
        x.load_state_dict(state)
