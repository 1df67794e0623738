"""One dtype for both sides of an operator: NumPy makes float64 of whole numbers beside floating ones, PyTorch does not.

It computes in float32 there, and refuses to multiply matrices of two dtypes.
"""

from __future__ import annotations

import ast
import functools

from chainer2torch.analysis.kinds import HostArray, Kind, Perhaps, Tensor, options, scalar_type
from chainer2torch.analysis.lattice import MIXED, common_floats
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.beside_arrays import is_read_again
from chainer2torch.plan.parts.floating_values import is_floating
from chainer2torch.plan.parts.host_values import wrap

_ORDERED = {"bool": 0, "int32": 1, "int64": 2, "float32": 3, "float64": 4}

_PROMOTING = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
}
_SMALL = frozenset({"bool", "uint8", "int8"})
_MAY_DIFFER = "one side may hold whole numbers and the other floats: NumPy computes in float64 then, PyTorch in float32"
_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})
_WIDE = frozenset({"int32", "int64"})  # beside these no floating number stays as it is


def made_double(context: Context, kind: Kind, other: ast.expr) -> str:
    """What makes whole numbers of the host float64, as NumPy computes with them beside floating ones.

    A product of matrices wants both sides in that: the floating side of the host, too.
    """
    if not all(isinstance(k, HostArray) for k in options(kind)):
        return ""
    whole = _is_wide(kind) and _is_narrow(context, other)
    around = context.source.parents.get(other)
    factor = isinstance(around, ast.BinOp) and isinstance(around.op, ast.MatMult)
    product = factor and _is_wide(context.analysis.kind(other)) and _are_narrow(kind)
    return ".double()" if whole or product else ""


def _is_wide(kind: Kind) -> bool:
    return all(isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in options(kind)) and all(
        getattr(k, "dtype", None) in _WIDE for k in options(kind)
    )


def becomes_double(context: Context, op: ast.operator, kind: Kind, side: ast.expr) -> bool:
    """Whether NumPy computes in float64 where PyTorch would take float32: whole numbers and floating ones."""
    if not (isinstance(kind, Tensor) and kind.array and kind.dtype in _WHOLE):
        return False
    other = context.analysis.kind(side)
    if isinstance(op, ast.Div):
        if scalar_type(other) in ("int", "bool", "float"):
            return True
        if isinstance(other, Tensor) and other.dtype in _WHOLE:
            return True
    if scalar_type(other) == "float":
        return True
    return kind.dtype in _WIDE and kind.rank != 0 and _is_narrow(context, side)


def _is_narrow(context: Context, side: ast.expr) -> bool:
    """Whether it is an array of floating numbers, and not of float64 for sure; which size they have is not asked."""
    kinds = options(context.analysis.kind(side))
    if all(isinstance(k, HostArray) for k in kinds):
        return _are_narrow(context.analysis.kind(side))
    arrays = all(isinstance(k, Tensor) and k.array for k in kinds)
    wide = all(isinstance(k, Tensor) and k.dtype == "float64" for k in kinds)
    return arrays and not wide and is_floating(context, side)


def _are_narrow(kind: Kind) -> bool:
    return all(getattr(k, "dtype", None) in ("float16", "float32") for k in options(kind))


def promoted(context: Context, decisions: Decisions, node: ast.BinOp, a: Kind, b: Kind) -> bool:
    """Where a side holds whole numbers for one caller and floats for another: the dtype is asked at run time.

    A product of matrices wants both sides in it. Whether it is such a side, beside an array of the other sort perhaps.
    """
    sign = _PROMOTING.get(type(node.op))
    if sign is None:
        return False
    for side, kind, other in ((node.left, a, b), (node.right, b, a)):
        if _is_mixed(kind) and (
            scalar_type(other) == "float" or isinstance(node.op, ast.Div) and scalar_type(other) in ("int", "bool")
        ):
            return wrap(context, decisions, side, "compat.promoted(value, 0.0)")
    if not _may_differ(a, b) and not _is_perhaps_whole(context, node, a, b):
        return False
    first, second = is_read_again(node.left), is_read_again(node.right)
    if isinstance(node.op, ast.MatMult) and first and second:
        template = "compat.promoted(a, b) @ compat.promoted(b, a)"
    elif isinstance(node.op, ast.MatMult) or not first and not second:
        decisions.mark(node, None, "numpy.ndarray", "review", _MAY_DIFFER, "C2T320")
        return True
    elif isinstance(node.op, ast.Div):  # of whole numbers, too
        template = (
            "compat.promoted(compat.promoted(a, 0.0), b) / b"
            if second
            else "a / compat.promoted(compat.promoted(b, 0.0), a)"
        )
    else:
        template = f"compat.promoted(a, b) {sign} b" if second else f"a {sign} compat.promoted(b, a)"
    decisions.replace(node, template, {"a": context.operand(node.left), "b": context.operand(node.right)})
    return True


def _may_differ(a: Kind, b: Kind) -> bool:
    """Whether two arrays may be whole numbers beside floating ones, and nobody knows which is which."""
    kinds = (*options(a), *options(b))
    arrays = [k for k in kinds if isinstance(k, HostArray) or isinstance(k, Tensor) and k.array]
    if len(arrays) < len(kinds) or not _has_tensor(a) or not _has_tensor(b) or any(k.rank == 0 for k in arrays):
        return False
    dtypes = [functools.reduce(common_floats, [k.dtype for k in arrays if k in options(side)]) for side in (a, b)]
    return MIXED in dtypes and not {"float64", *_SMALL} & set(dtypes)


def _is_perhaps_whole(context: Context, node: ast.BinOp, a: Kind, b: Kind) -> bool:
    """``w * model.fc.W.array``, where ``w`` holds whole numbers if it is what the program put there."""
    return any(
        isinstance(kind, Perhaps)
        and any(getattr(one, "dtype", None) in _WIDE and getattr(one, "rank", 0) != 0 for one in options(kind.known))
        and _is_narrow(context, side)
        for kind, side in ((a, node.right), (b, node.left))
    )


def _is_mixed(kind: Kind) -> bool:
    return isinstance(kind, Tensor) and kind.array and kind.dtype == MIXED and kind.rank != 0


def _has_tensor(kind: Kind) -> bool:
    return any(isinstance(k, Tensor) for k in options(kind))


def same_dtype(context: Context, decisions: Decisions, left: ast.expr, a: Kind, right: ast.expr, b: Kind) -> None:
    """Converts one factor of a product of matrices, as NumPy does; PyTorch multiplies equal dtypes only."""
    for whole, other in ((a, right), (b, left)):
        if _is_wide(whole) and _is_narrow(context, other) and (isinstance(a, Tensor) or isinstance(b, Tensor)):
            for side, kind in ((left, a), (right, b)):
                if isinstance(kind, Tensor):
                    wrap(context, decisions, side, "value.double()")
            return  # of the host: that one is made double where it becomes a tensor
    for host, side, kind in ((a, right, b), (b, left, a)):
        doubles = all(isinstance(k, HostArray) and k.dtype == "float64" for k in options(host))
        if doubles and isinstance(kind, Tensor) and _is_narrow(context, side):
            wrap(context, decisions, side, "value.double()")
            return
    if not all(isinstance(k, Tensor) and k.array for k in (a, b)):
        return
    dtypes = {k.dtype or "" for k in (a, b) if isinstance(k, Tensor)}
    if len(dtypes) < 2 or not dtypes <= _ORDERED.keys():
        return
    # int64 and float32 give float64, as each of int32 and float32 does
    common = "float64" if "float32" in dtypes and dtypes & {"int32", "int64"} else max(dtypes, key=_ORDERED.__getitem__)
    for side, kind in ((left, a), (right, b)):
        if isinstance(kind, Tensor) and kind.dtype != common:
            wrap(context, decisions, side, f"value.to(torch.{common})")


__all__ = ["becomes_double", "made_double", "promoted", "same_dtype"]
