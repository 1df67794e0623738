"""The dtype of what a network computes: floats of whichever size it has, ``floats`` in a kind.

What layers and their functions give is that, and never whole numbers, also where no dtype is written anywhere. Beside
whole numbers NumPy computes with it in float64; beside another value of the network nothing changes.
"""

from __future__ import annotations

import dataclasses

from chainer2torch.analysis.kinds import Kind, Lst, Tensor, Tup
from chainer2torch.analysis.lattice import NETWORK


def of_network(kind: Kind) -> Kind:
    """A result whose tensors of no known dtype are floats of the network's size; other kinds are as they were."""
    if isinstance(kind, Tensor):
        return dataclasses.replace(kind, dtype=NETWORK) if kind.dtype is None else kind
    if isinstance(kind, Tup):
        return dataclasses.replace(kind, items=tuple(map(of_network, kind.items)))
    return dataclasses.replace(kind, element=of_network(kind.element)) if isinstance(kind, Lst) else kind


__all__ = ["of_network"]
