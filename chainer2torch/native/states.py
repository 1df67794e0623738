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
        is_array = isinstance(value, np.ndarray)
        if not self.loads:
            self.state[key] = torch.tensor(value) if is_array else value
        return np.asarray(self.state[key]) if is_array else self.state[key]


def serialize_part(serializer: Serializer, part: Any) -> None:
    """Stores or restores what an object holds: a module or an optimizer by its state_dict; a loader has none.

    Source: chainer.Link.serialize, chainer.Optimizer.serialize.
    """
    if hasattr(part, "serialize"):
        part.serialize(serializer)
    elif serializer.loads and isinstance(part, torch.nn.Module):
        part.load_state_dict({key: serializer.state[key] for key in part.state_dict()})
    elif hasattr(part, "state_dict"):
        serialize_summary(serializer, part)


def serialize_summary(serializer: Serializer, summary: Any) -> None:
    """Stores or restores running means. Source: chainer.DictSummary.serialize."""
    if serializer.loads:
        summary.load_state_dict(serializer.state)
    else:
        serializer.state.update(summary.state_dict())


class Saved:
    """The base of objects whose ``serialize(serializer)`` says what is saved of them.

    Source: chainer.serializers.DictionarySerializer.
    """

    def serialize(self, serializer: Any) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = {}
        self.serialize(Serializer(state, loads=False))
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.serialize(Serializer(state, loads=True))


class SavedExtension(Saved, Extension):
    """An Extension of which ``serialize`` says what is saved. Source: chainer.training.Extension."""
