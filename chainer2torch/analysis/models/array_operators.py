"""Ranks and dtypes of what operators and indices make of arrays and tensors."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Batch,
    Const,
    HostArray,
    Inst,
    Kind,
    Lst,
    Perhaps,
    Ref,
    Scalar,
    Tensor,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import MIXED, common_floats, element_of, join_all, unsure
from chainer2torch.analysis.models.shapes import plus


def signed(kind: Kind) -> Kind:
    """The kind of ``-x`` and ``abs(x)``: that of ``x`` where it is a number, an array or a tensor."""
    if kind is BOTTOM:
        return BOTTOM
    return join_all([_number(one) if scalar_type(one) is not None else _array(one) for one in options(kind)])


def _number(kind: Kind) -> Kind:
    """``total = 0`` before a loop that adds arrays to it: its ``abs`` is a number as long as nothing was added."""
    name = scalar_type(kind)
    return Scalar(name) if name in ("int", "float", "bool") else UNKNOWN


def _array(kind: Kind) -> Kind:
    if isinstance(kind, Perhaps):
        return unsure(signed(kind.known))
    return kind if isinstance(kind, (Tensor, HostArray)) else UNKNOWN


def broadcast(a: Kind, b: Kind) -> Kind:
    """The kind of an arithmetic result of two values, at least one of which is an array or tensor."""
    pair = [k for k in (a, b) if isinstance(k, (Tensor, HostArray))]
    if len(pair) == 1:
        other = b if pair[0] is a else a
        if scalar_type(other) is None:
            wide = isinstance(pair[0], Tensor) and pair[0].array and pair[0].dtype == "float64" and pair[0].rank != 0
            # beside a number it stays float64, beside a Variable it gets the Variable's dtype
            return dataclasses.replace(pair[0], rank=None, dtype="floating" if wide else None)
        if pair[0].dtype == "bool" and scalar_type(other) == "int":
            return dataclasses.replace(pair[0], dtype="int64")  # it counts
        if pair[0].dtype == MIXED and scalar_type(other) == "float":
            return dataclasses.replace(pair[0], dtype="floating")
        keep = scalar_type(other) != "float" or (pair[0].dtype or "").startswith("float")
        return pair[0] if keep else dataclasses.replace(pair[0], dtype=None)
    rank = max(pair[0].rank, pair[1].rank) if pair[0].rank is not None and pair[1].rank is not None else None
    dtypes = {k.dtype for k in pair}
    whole = dtypes - {"bool"} if dtypes <= _INTEGERS else dtypes  # conditions count beside whole numbers
    dtype = next(iter(whole or dtypes)) if len(whole) < 2 else _of_both(*whole) if len(whole) == 2 else None
    tensors = [k for k in pair if isinstance(k, Tensor)]
    if dtype is None and any((t.dtype or "").startswith("float") for t in tensors):
        dtype = "floating"  # that of the Variable, or what two arrays have in common
    if tensors:
        # a Variable beside an array stays a Variable, of its dtype
        variables = {t.dtype for t in tensors if not t.array and not t.either}
        if len(variables) == 1 and (own := variables.pop()) is not None and own.startswith("float"):
            dtype = own
        arrays = all(t.array for t in tensors)
        return Tensor(rank, dtype, arrays, not arrays and all(t.array or t.either for t in tensors))
    return HostArray(rank, dtype)


def _of_both(a: str | None, b: str | None) -> str | None:
    """The dtype of a result of two arrays of these."""
    found = common_floats(a, b)
    if found != MIXED:
        return found
    return MIXED if all(d == MIXED or d in _INTEGERS for d in (a, b)) else "floating"


def compared(a: Kind, b: Kind) -> Kind:
    """The kind of ``a == b`` or ``a < b``: one answer, or an array of them where a side is an array."""
    if a is BOTTOM or b is BOTTOM:
        return BOTTOM
    if isinstance(a, (Tensor, HostArray)) or isinstance(b, (Tensor, HostArray)):
        result = broadcast(a, b)
        if isinstance(result, Tensor):  # Variables cannot be compared: these are arrays
            return Tensor(result.rank, "bool", array=True)
        return HostArray(result.rank, "bool") if isinstance(result, HostArray) else UNKNOWN
    plain = any(k == NONE or scalar_type(k) == "str" for k in (a, b))
    return UNKNOWN if UNKNOWN in (a, b) and not plain else Scalar("bool")


def repeats(op: ast.operator, a: Kind, b: Kind) -> bool:
    """Whether ``a * b`` repeats a text or a list as often as an element of an array says: ``[0] * lengths[i]``.

    A list beside a whole array is an array to NumPy; which of the two a value without a known rank is, is not known:
    then a list of the device's array counts as repeated, which raises for more than one element.
    """
    if not isinstance(op, ast.Mult):
        return False
    for sequence, times in ((a, b), (b, a)):
        if isinstance(times, (Tensor, HostArray)):
            if scalar_type(sequence) == "str":
                return True
            on_device = isinstance(times, Tensor) and times.array and times.rank is None
            if isinstance(sequence, (Lst, Tup)) and times.dtype in _INTEGERS and (times.rank == 0 or on_device):
                return True
    return False


def arithmetic(op: ast.operator, a: Kind, b: Kind) -> Kind:
    """The kind of ``a op b``, at least one of which is an array or tensor."""
    a, b = _computed_with(a), _computed_with(b)
    if repeats(op, a, b):
        sequence = b if isinstance(a, (Tensor, HostArray)) else a
        return Scalar("str") if scalar_type(sequence) == "str" else Lst(element_of(sequence))
    kind = broadcast(a, b)
    if isinstance(op, ast.Div) and isinstance(kind, (Tensor, HostArray)) and kind.dtype in _INTEGERS:
        return dataclasses.replace(kind, dtype="float64")
    if isinstance(op, ast.Div) and isinstance(kind, (Tensor, HostArray)) and kind.dtype == MIXED:
        return dataclasses.replace(kind, dtype="floating")
    if _is_whole(a) and scalar_type(b) == "float" or _is_whole(b) and scalar_type(a) == "float":
        return dataclasses.replace(kind, dtype="float64") if isinstance(kind, (Tensor, HostArray)) else kind
    if (
        isinstance(kind, (Tensor, HostArray))
        and kind.dtype is None
        and (_is_double(a) and _is_array(b) or _is_double(b) and _is_array(a))
    ):
        return dataclasses.replace(kind, dtype="float64")  # whatever the other one is
    return kind


def of_scalars(op: ast.operator, a: str | None, b: str | None) -> Kind:
    """What numbers and texts of these types give."""
    numbers = ("int", "float", "bool")
    if a in numbers and b in numbers:
        return Scalar("float" if "float" in (a, b) or isinstance(op, ast.Div) else "int")
    return Scalar("str") if a == b == "str" else UNKNOWN


def _computed_with(kind: Kind) -> Kind:
    """A batch that is computed with beside an array is one array: NumPy makes one of a tuple, too."""
    return Tensor(array=True) if isinstance(kind, Batch) else kind


def _is_double(kind: Kind) -> bool:
    """Whether it is an array of float64, and no single value, which counts less than an array of another dtype."""
    return _is_array(kind) and getattr(kind, "dtype", None) == "float64" and bool(getattr(kind, "rank", 0))


def _is_array(kind: Kind) -> bool:
    return isinstance(kind, HostArray) or isinstance(kind, Tensor) and kind.array


def _is_whole(kind: Kind) -> bool:
    """Whether it is an array of whole numbers or conditions, which a floating number beside it makes float64."""
    return _is_array(kind) and getattr(kind, "dtype", None) in _INTEGERS


_INTEGERS = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})


def subscript(kind: Tensor | HostArray, node: ast.expr, index: Kind) -> Kind:
    """The kind of ``x[index]``."""
    return dataclasses.replace(kind, rank=indexed_rank(kind.rank, _parts_at(node, index)))


SLICE = Inst("builtins.slice")  # what stands for `a:b`, and what `slice(a, b)` makes
_NEW_AXIS = Ref("numpy.newaxis")


def _parts_at(node: ast.expr, index: Kind) -> Kind:
    """The kind of an index as it is written, in which slices are told from what nobody knows."""
    if isinstance(node, ast.Slice):
        return SLICE
    if isinstance(node, ast.Tuple) and isinstance(index, Tup) and len(index.items) == len(node.elts):
        return Tup(tuple(_parts_at(part, kind) for part, kind in zip(node.elts, index.items)))
    if isinstance(node, ast.Attribute) and node.attr == "newaxis":
        return _NEW_AXIS
    return index


def indexed_rank(rank: int | None, index: Kind) -> int | None:
    """The rank of ``x[index]`` by NumPy's rules; None where an index may be anything.

    A whole number takes an axis away and None adds one. Arrays of whole numbers take the place of one axis each with
    the axes that they have together; a condition takes the place of as many as it has with one.
    """
    if rank is None:
        return None
    parts = index.items if isinstance(index, Tup) else (index,)
    gone = new = 0
    together: int | None = None  # the rank of the arrays among the indices
    for part in parts:
        if part == SLICE or part == Const(Ellipsis):
            continue
        if part in (NONE, _NEW_AXIS):
            new += 1
            continue
        if scalar_type(part) == "int":
            gone += 1
            continue
        array = _array_index(part)
        if array is None:
            return None
        gone += array[0]
        together = max(together or 0, array[1])
    return plus(rank, new - gone + (together or 0))


def _array_index(kind: Kind) -> tuple[int, int] | None:
    """How many axes an array in an index stands for, and how many axes it has itself."""
    if isinstance(kind, Lst) and scalar_type(kind.element) in ("int", "bool"):
        return 1, 1
    if not isinstance(kind, (HostArray, Tensor)) or kind.rank is None:
        return None
    if kind.rank == 1:  # of whole numbers or a condition: the same
        return 1, 1
    if kind.dtype == "bool":
        return kind.rank, 1
    return (1, kind.rank) if kind.dtype in _INTEGERS else None
