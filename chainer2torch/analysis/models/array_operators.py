"""Ranks and dtypes of what operators and indices make of arrays and tensors."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.kinds import HostArray, Kind, Tensor, Tup, scalar_type


def broadcast(a: Kind, b: Kind) -> Kind:
    """The kind of an arithmetic result of two values, at least one of which is an array or tensor."""
    pair = [k for k in (a, b) if isinstance(k, (Tensor, HostArray))]
    if len(pair) == 1:
        other = b if pair[0] is a else a
        if scalar_type(other) is None:
            return dataclasses.replace(pair[0], rank=None, dtype=None)
        keep = scalar_type(other) != "float" or (pair[0].dtype or "").startswith("float")
        return pair[0] if keep else dataclasses.replace(pair[0], dtype=None)
    rank = max(pair[0].rank, pair[1].rank) if pair[0].rank is not None and pair[1].rank is not None else None
    dtype = pair[0].dtype if pair[0].dtype == pair[1].dtype else None
    tensors = [k for k in pair if isinstance(k, Tensor)]
    if tensors:
        # a Variable beside an array stays a Variable
        return Tensor(rank, dtype, array=all(t.array for t in tensors))
    return HostArray(rank, dtype)


def arithmetic(op: ast.operator, a: Kind, b: Kind) -> Kind:
    """The kind of ``a op b``, at least one of which is an array or tensor."""
    kind = broadcast(a, b)
    if isinstance(op, ast.Div) and isinstance(kind, (Tensor, HostArray)) and kind.dtype in _INTEGERS:
        return dataclasses.replace(kind, dtype="float64")
    if _is_whole(a) and scalar_type(b) == "float" or _is_whole(b) and scalar_type(a) == "float":
        return dataclasses.replace(kind, dtype="float64") if isinstance(kind, (Tensor, HostArray)) else kind
    if (
        isinstance(kind, (Tensor, HostArray))
        and kind.dtype is None
        and (_is_double(a) and _is_array(b) or _is_double(b) and _is_array(a))
    ):
        return dataclasses.replace(kind, dtype="float64")  # whatever the other one is
    return kind


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
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    rank = kind.rank
    for i, part in enumerate(parts):
        if isinstance(part, ast.Slice) or isinstance(part, ast.Constant) and part.value is Ellipsis:
            continue
        if isinstance(part, ast.Constant) and part.value is None:
            rank = None if rank is None else rank + 1
            continue
        if isinstance(part, ast.Attribute) and part.attr == "newaxis":
            rank = None if rank is None else rank + 1
            continue
        item = (
            index.items[i] if isinstance(index, Tup) and isinstance(node, ast.Tuple) and i < len(index.items) else index
        )
        if scalar_type(item) == "int":
            rank = None if rank is None else rank - 1
        else:
            rank = None
            break
    return dataclasses.replace(kind, rank=rank)
