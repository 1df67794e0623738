"""Lists of lists of arrays on the host: the weights of ``F.n_step_lstm`` and its relatives, a list for each layer."""

from __future__ import annotations

from chainer2torch.analysis.kinds import HostArray, Kind, Lst, Tup, options
from chainer2torch.analysis.lattice import element_of


def tensors_within(kind: Kind) -> str | None:
    """What makes tensors of arrays in lists in a list, as the weights of ``F.n_step_lstm``; None: it holds none."""
    if not isinstance(kind, (Lst, Tup)):
        return None
    layers = options(element_of(kind))
    if not all(isinstance(layer, (Lst, Tup)) for layer in layers):
        return None
    held = [one for layer in layers for one in options(element_of(layer))]
    if not any(isinstance(one, HostArray) for one in held):
        return None
    alone = all(isinstance(one, HostArray) for one in held)
    return f"[{'[torch.as_tensor(item) for item in row]' if alone else 'compat.from_host(row)'} for row in value]"


__all__ = ["tensors_within"]
