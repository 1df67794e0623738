"""NumPy's functions that join, cut, move and multiply arrays: the ranks and dtypes of what they return.

All of them give arrays on the host (or lists of such), whatever they get. A rank or dtype that the call does not tell
is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chainer2torch.analysis.kinds import NONE, UNKNOWN, Const, HostArray, Kind, Lst, Tensor, Tup
from chainer2torch.analysis.models.array_kinds import reshaped
from chainer2torch.analysis.models.shapes import (
    axes_in,
    broadcast_rank,
    common_dtype,
    common_rank,
    dot_rank,
    dtype_within,
    parts_of,
    plus,
    product_rank,
    rank_of,
    rank_of_shape,
)

_Args = list[Kind]
_Keywords = Mapping[str, Kind]
_Model = Callable[[_Args, _Keywords], Kind]


def shaped(name: str, args: _Args, keywords: _Keywords) -> Kind | None:
    """What ``numpy.<name>(...)`` returns; None: it is none of the functions that are known here."""
    model = _MODELS.get(name)
    return model(args, keywords) if model is not None else None


def _given(args: _Args, keywords: _Keywords, at: int, name: str) -> Kind | None:
    return keywords.get(name, args[at] if len(args) > at else None)


def _joined(least: int, more: int = 0) -> _Model:
    """``np.concatenate``, ``np.stack``: all have the same rank, or numbers and vectors get ``least`` axes first."""

    def model(args: _Args, keywords: _Keywords) -> Kind:
        first = args[0] if args else UNKNOWN
        parts: list[Kind] = [first]
        if isinstance(first, (HostArray, Tensor)):  # the parts of one array
            rank = plus(first.rank, -1)
        else:
            parts = parts_of(first)
            rank = common_rank(parts) if not more or len({rank_of(part) for part in parts}) == 1 else None
        axis = _given(args, keywords, 1, "axis") or Const(0)
        if axis == NONE:
            rank = 1
        elif axes_in(axis) is None:
            rank = None
        elif rank is not None:
            rank = max(rank, least) + more
        return HostArray(rank, common_dtype(parts) if "dtype" not in keywords else None)

    return model


def _like(change: Callable[[int | None, _Args, _Keywords], int | None], keeps_dtype: bool = True) -> _Model:
    """A function of one array; ``change`` gives the rank."""

    def model(args: _Args, keywords: _Keywords) -> Kind:
        first = args[0] if args else UNKNOWN
        return HostArray(change(rank_of(first), args[1:], keywords), dtype_within(first) if keeps_dtype else None)

    return model


def _method(name: str) -> _Model:
    """A function that is a method of arrays, too."""

    def model(args: _Args, keywords: _Keywords) -> Kind:
        first = args[0] if args else UNKNOWN
        if not isinstance(first, (HostArray, Tensor)):
            return HostArray()
        return reshaped(HostArray(first.rank, first.dtype), name, args[1:], dict(keywords))

    return model


def _binary(rank: Callable[[int | None, int | None], int | None]) -> _Model:
    def model(args: _Args, keywords: _Keywords) -> Kind:
        pair = args[:2]
        arrays = len(pair) == 2 and all(isinstance(kind, (HostArray, Tensor)) for kind in pair)
        return HostArray(rank(rank_of(pair[0]), rank_of(pair[1])), common_dtype(pair)) if arrays else HostArray()

    return model


def _of_rank(rank: int, dtype: str | None = None) -> _Model:
    return lambda args, keywords: HostArray(rank, dtype)


def _where(args: _Args, keywords: _Keywords) -> Kind:
    if len(args) != 3:
        return Lst(HostArray(1, "int64"))
    return HostArray(broadcast_rank(args), common_dtype(args[1:]))


def _parts(args: _Args, keywords: _Keywords) -> Kind:
    first = args[0] if args else UNKNOWN
    return Lst(HostArray(rank_of(first), dtype_within(first)))


def _sorted_indices(args: _Args, keywords: _Keywords) -> Kind:
    axis = _given(args, keywords, 1, "axis") or Const(-1)
    rank = rank_of(args[0]) if args else None
    return HostArray(1 if axis == NONE else rank if axes_in(axis) else None, "int64")


def _expanded(rank: int | None, args: _Args, keywords: _Keywords) -> int | None:
    return plus(rank, axes_in(_given(args, keywords, 0, "axis")))


def _tiled(rank: int | None, args: _Args, keywords: _Keywords) -> int | None:
    reps = axes_in(_given(args, keywords, 0, "reps"))
    return max(rank, reps) if rank is not None and reps is not None else None


def _to_shape(*names: str) -> _Model:
    def change(rank: int | None, args: _Args, keywords: _Keywords) -> int | None:
        named = next((keywords[name] for name in names if name in keywords), None)
        return rank_of_shape(named or (args[0] if args else None))

    return _like(change)


def _rank_kept(rank: int | None, args: _Args, keywords: _Keywords) -> int | None:
    return rank


def _unique(args: _Args, keywords: _Keywords) -> Kind:
    first = args[0] if args else UNKNOWN
    found = HostArray(1, dtype_within(first)) if "axis" not in keywords else HostArray()
    asked = [k for k in ("return_index", "return_inverse", "return_counts") if k in keywords]
    if len(args) > 1 or any(not isinstance(keywords[k], Const) for k in asked):
        return UNKNOWN
    more = sum(keywords[k] == Const(True) for k in asked)
    return Tup((found, *(HostArray(None, "int64"),) * more)) if more else found


def _einsum(args: _Args, keywords: _Keywords) -> Kind:
    formula = args[0].value if args and isinstance(args[0], Const) and isinstance(args[0].value, str) else ""
    _, arrow, result = formula.replace(" ", "").partition("->")
    return HostArray(len(result) if arrow and "." not in result else None)


def _anything(args: _Args, keywords: _Keywords) -> Kind:
    return HostArray()


_ANY = (
    "append",
    "apply_along_axis",
    "cov",
    "delete",
    "dstack",
    "fromfile",
    "frombuffer",
    "genfromtxt",
    "insert",
    "interp",
    "kron",
    "loadtxt",
    "moveaxis",
    "percentile",
    "random.dirichlet",
    "random.multinomial",
    "random.multivariate_normal",
    "rollaxis",
    "tensordot",
)
_MODELS: Mapping[str, _Model] = {
    **dict.fromkeys(_ANY, _anything),
    **{name: _method(name) for name in ("cumprod", "cumsum", "diagonal", "repeat", "squeeze", "swapaxes", "take")},
    "argsort": _sorted_indices,
    "argwhere": _of_rank(2, "int64"),
    "array_split": _parts,
    "bincount": _of_rank(1),
    "broadcast_to": _to_shape("shape"),
    "concatenate": _joined(0),
    "diff": _like(_rank_kept),
    "dot": _binary(dot_rank),
    "einsum": _einsum,
    "expand_dims": _like(_expanded),
    "flatnonzero": _of_rank(1, "int64"),
    "hstack": _joined(1),
    "matmul": _binary(product_rank),
    "meshgrid": lambda args, keywords: Lst(HostArray()),
    "nonzero": lambda args, keywords: Lst(HostArray(1, "int64")),
    "outer": _of_rank(2),
    "pad": _like(_rank_kept),
    "ravel": _like(lambda rank, args, keywords: 1),
    "reshape": _to_shape("shape", "newshape"),
    **dict.fromkeys(("dsplit", "hsplit", "split", "vsplit"), _parts),
    "stack": _joined(0, more=1),
    "tile": _like(_tiled),
    "transpose": _like(_rank_kept),
    "tril": _like(_rank_kept),
    "triu": _like(_rank_kept),
    "unique": _unique,
    "vstack": _joined(2),
    "where": _where,
}
