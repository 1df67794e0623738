"""Arrays inside of dictionaries and of lists in lists.

Of the host: the weights of ``F.n_step_lstm`` and its relatives, a list for each layer. Of the device: rows of a table.
"""

from __future__ import annotations

from collections.abc import Iterator

from chainer2torch.analysis.kinds import Dct, HostArray, Kind, Lst, Perhaps, Tensor, Tup, options
from chainer2torch.analysis.lattice import element_of


def tensors_within(kind: Kind) -> str | None:
    """What makes tensors of arrays in lists in a list, as the weights of ``F.n_step_lstm``; None: it holds none."""
    if not isinstance(kind, (Lst, Tup)):
        return None
    layers = options(element_of(kind))
    if not all(isinstance(layer, (Lst, Tup)) for layer in layers):
        return None
    held = [one for layer in layers for one in options(element_of(layer))]
    perhaps = [known for one in held if isinstance(one, Perhaps) for known in options(one.known)]
    if not any(isinstance(one, HostArray) for one in (*held, *perhaps)):
        return None
    alone = all(isinstance(one, HostArray) for one in held)
    return f"[{'[torch.as_tensor(item) for item in row]' if alone else 'compat.from_host(row)'} for row in value]"


def holds_arrays_within(kind: Kind) -> bool:
    """Whether a dictionary, or a list of some, holds what was an array on the device, and no Variable."""
    held = list(_parts(kind))
    tensors = [one for one in held if isinstance(one, Tensor)]
    return any(isinstance(one, Dct) for one in held) and bool(tensors) and all(one.array for one in tensors)


def _parts(kind: Kind) -> Iterator[Kind]:
    for one in options(kind):
        yield one
        if isinstance(one, Dct):
            inner = [one.element, *(item for _, item in one.items)]
        else:
            inner = [one.element] if isinstance(one, Lst) else [*one.items] if isinstance(one, Tup) else []
        for item in inner:
            yield from _parts(item)


__all__ = ["holds_arrays_within", "tensors_within"]
