"""Modules that write what they save themselves: Chainer's ``serialize(serializer)`` of links."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch.nn as nn

from chainer2torch.compat.links.link_slots import link_children, own_slots


def serialize_link(module: nn.Module, serializer: Any) -> None:
    """Stores or restores the parameters and persistent values of a module and of all that it contains.

    This is what ``super().serialize(serializer)`` does in a module with a ``serialize`` method of its own, which
    :func:`save_npz`, :func:`load_npz` and snapshots then call. ``serializer(key, value)`` stores a value and returns
    it, or returns the stored one; ``serializer[name]`` is that of a child. Source: chainer.Link.serialize.
    """
    for slot in own_slots(module):
        value = slot.read()
        given = None if value is None else np.array(value)
        stored = serializer(slot.key, given)
        if stored is not None and not (stored is given and np.array_equal(given, value)):
            slot.write(np.asarray(stored))
    if getattr(module, "_chainer_slots", None) is None:  # else its slots are those of all that it contains
        for name, child in link_children(module):
            serialize(child, serializer[name])


def serialize(module: nn.Module, serializer: Any) -> None:
    """Calls the ``serialize`` method of a module, or does what a link without one of its own does.

    Source: chainer.Link.serialize.
    """
    own = getattr(module, "serialize", None)
    if callable(own):
        own(serializer)
    else:
        serialize_link(module, serializer)
