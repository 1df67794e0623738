"""Parts of .npz files: what loads an open file into modules, and what collects the arrays of modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch.nn as nn

from chainer2torch.compat.links.link_serialize import serialize
from chainer2torch.compat.serializers.serializers import _is_ignored, chainer_entries, load_entries
from chainer2torch.compat.serializers.state import serialize_part
from chainer2torch.compat.serializers.state_io import StateReader, StateWriter
from chainer2torch.compat.serializers.weight_files import read_archive


class NpzDeserializer(StateReader):
    """Loads an .npz that is open, or a part of it: ``NpzDeserializer(numpy.load(file))['predictor'].load(model)``.

    Args:
        npz: what ``numpy.load`` returned, or a dictionary of arrays.
        path: the part of the file, such as ``'updater/model:main/'``.
        strict: a missing key raises KeyError; otherwise the old value stays.
        ignore_names: a key, a function of the key, or a list of those that are left alone.
    Source: chainer.serializers.NpzDeserializer. Objects are never unpickled.
    """

    def __init__(self, npz: Any, path: str = "", strict: bool = True, ignore_names: Any = None) -> None:
        archive = getattr(npz, "zip", None)
        entries: Mapping[str, Any] = npz if archive is None else read_archive(archive)
        super().__init__(
            {key.lstrip("/"): None if _is_none(value) else value for key, value in entries.items()},
            path.lstrip("/"),
            strict,
        )
        self.ignore_names = ignore_names

    def __getitem__(self, name: str) -> NpzDeserializer:
        return NpzDeserializer(self.entries, self.path + name.strip("/") + "/", self.strict, self.ignore_names)

    def __call__(self, key: str, value: Any) -> Any:
        """The stored value, or ``value`` itself where the key is to be left alone."""
        return value if _is_ignored(self.path + key.lstrip("/"), self.ignore_names) else super().__call__(key, value)

    def load(self, obj: Any) -> None:
        """Loads a module, an optimizer, or what has a ``serialize`` method; keys that are left over do not matter.

        Raises:
            KeyError: a key is missing, and the deserializer is strict.
            ValueError: an array has another shape, or a dtype that does not convert.
        """
        if isinstance(obj, nn.Module) or hasattr(obj, "_load_chainer_entries"):
            load_entries(self.entries, obj, self.path, self.strict, self.ignore_names, allow_extra=True)
        else:
            serialize_part(self, obj)


def _is_none(value: Any) -> bool:
    """Whether it is how Chainer stores None: an array of one object."""
    return isinstance(value, np.ndarray) and value.dtype == object and value.shape == () and value[()] is None


class DictionarySerializer(StateWriter):
    """Collects arrays in the dictionary ``target``, under Chainer's names and ``path``.

    Source: chainer.serializers.DictionarySerializer.
    """

    def __init__(self, target: dict[str, Any] | None = None, path: str = "") -> None:
        super().__init__(target, path)

    def __getitem__(self, name: str) -> DictionarySerializer:
        return DictionarySerializer(self.entries, self.path + name.strip("/") + "/")

    @property
    def target(self) -> dict[str, Any]:
        """The arrays by key."""
        return self.entries

    def save(self, obj: Any) -> None:
        """Puts the arrays of a module, an optimizer, or what has a ``serialize`` method into ``target``."""
        if isinstance(obj, nn.Module):
            serialize(obj, self)
        elif hasattr(obj, "_chainer_entries"):
            for key, value in chainer_entries(obj).items():
                self(key, value)
        else:
            serialize_part(self, obj)
