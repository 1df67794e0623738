"""Ranks from the arguments that name axes and shapes: what NumPy, Chainer's functions and methods of arrays share."""

from __future__ import annotations

import functools

from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    Const,
    HostArray,
    Kind,
    Lst,
    Tensor,
    Tup,
    Union,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import common_floats


def rank_of(kind: Kind | None) -> int | None:
    """The rank of an array or tensor, of a plain number, or of several values that agree on it."""
    if isinstance(kind, (Tensor, HostArray)):
        return kind.rank
    if isinstance(kind, Union):
        ranks = {rank_of(option) for option in options(kind)}
        return ranks.pop() if len(ranks) == 1 else None
    return 0 if kind is not None and scalar_type(kind) in ("int", "float", "bool") else None


def dtype_within(kind: Kind | None) -> str | None:
    """The dtype of an array or tensor, or of several that agree on it."""
    if isinstance(kind, (Tensor, HostArray)):
        return kind.dtype
    if isinstance(kind, Union):
        dtypes = {dtype_within(option) for option in options(kind)}
        return dtypes.pop() if len(dtypes) == 1 else None
    return None


def rank_of_shape(kind: Kind | None) -> int | None:
    """The rank of an array whose shape is this value: a tuple of known length, or one whole number."""
    if isinstance(kind, Tup):
        if len(kind.items) == 1 and isinstance(kind.items[0], (Lst, Tup)):  # `x.reshape((2, 3))` of `*shape`
            return rank_of_shape(kind.items[0])
        # an item that is a list stands for several numbers: `x.reshape(n, *shape)`
        counts = [len(item.items) if isinstance(item, Tup) else 1 for item in kind.items]
        return None if any(isinstance(item, Lst) for item in kind.items) else sum(counts)
    return 1 if kind is not None and scalar_type(kind) == "int" else None


def axes_in(kind: Kind | None) -> int | None:
    """How many axes an argument names: a whole number is one, a tuple its length; None: it does not show."""
    if isinstance(kind, Tup):
        return len(kind.items)
    return 1 if kind is not None and scalar_type(kind) == "int" else None


def plus(rank: int | None, more: int | None) -> int | None:
    """A rank with more axes, or with fewer; None where either is not known, or where nothing can be right."""
    if rank is None or more is None or rank + more < 0:
        return None
    return rank + more


def reduced_rank(rank: int | None, axis: Kind | None, keepdims: Kind | None) -> int | None:
    """The rank of a sum, a mean or a maximum over ``axis`` (left out or None: over all axes)."""
    if keepdims is not None and not isinstance(keepdims, Const):
        return None
    if isinstance(keepdims, Const) and keepdims.value:
        return rank
    if axis is None or axis == NONE:
        return 0
    gone = axes_in(axis)
    return plus(rank, -gone) if gone is not None else None


def squeezed_rank(rank: int | None, axis: Kind | None) -> int | None:
    """The rank without the axes of length 1 that ``axis`` names; which there are without it does not show."""
    gone = axes_in(axis)
    return plus(rank, -gone) if gone is not None else None


def broadcast_rank(kinds: list[Kind]) -> int | None:
    """The rank of what is computed from several values element by element: the largest of them."""
    ranks = [rank_of(kind) for kind in kinds]
    return max((r for r in ranks if r is not None), default=None) if None not in ranks else None


def common_rank(kinds: list[Kind]) -> int | None:
    """The rank of arrays that must all have the same: one that is known tells it of the others."""
    return next((r for r in map(rank_of, kinds) if r is not None), None)


def product_rank(a: int | None, b: int | None) -> int | None:
    """The rank of a matrix product by NumPy's rules."""
    if a is None or b is None or not (a and b):
        return None
    if a == 1 or b == 1:
        return a + b - 2
    return max(a, b)


def dot_rank(a: int | None, b: int | None) -> int | None:
    """The rank of ``numpy.dot``: all axes but one of each."""
    if a is None or b is None:
        return None
    return max(a, b) if 0 in (a, b) else a + b - 2


def parts_of(kind: Kind | None) -> list[Kind]:
    """The arrays in a list or tuple of them: one stands for all where the length is not known."""
    if isinstance(kind, Tup):
        return list(kind.items)
    if isinstance(kind, Lst):
        return [] if kind.element is BOTTOM else [kind.element]
    if isinstance(kind, Union):
        return [part for option in kind.ordered for part in parts_of(option)]
    return []


def common_dtype(kinds: list[Kind]) -> str | None:
    """The dtype that all of these arrays have, if it is one."""
    dtypes = [dtype_within(kind) for kind in kinds]
    return functools.reduce(common_floats, dtypes) if dtypes else None
