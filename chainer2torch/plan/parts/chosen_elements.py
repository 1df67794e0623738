"""``x[[0, 2]] = values``, ``x[mask] = values``: where elements are chosen, PyTorch wants values of the same dtype.

NumPy casts what it writes. So does PyTorch behind numbers and slices, and what is a number of Python everywhere.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Kind, Tensor, options, scalar_type
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.parts.host_values import wrap


def into_chosen(context: Context, decisions: Decisions, target: ast.Subscript, value: ast.expr, known: bool) -> bool:
    """Gives a value the dtype of the tensor that it is written into. ``known``: it is a tensor already."""
    array = target.value
    if not isinstance(array, (ast.Name, ast.Attribute)) or not _chooses(context, target):
        return False
    kind, own = context.analysis.kind(value), _dtypes(context.analysis.kind(array))
    written = _dtypes(kind)
    if written == own and own and None not in own or scalar_type(kind) is not None:
        return False
    if known:
        if not own or None in own or not written or None in written:
            return False
        return wrap(context, decisions, value, "value.to(array)", array=array)
    made = tensor_of(context, value)
    if not made.startswith("torch.as_tensor(") or isinstance(value, (ast.List, ast.Tuple)) and _are_floats(value, own):
        return False
    return wrap(context, decisions, value, made[:-1] + ", dtype=array.dtype)", array=array)


def _chooses(context: Context, target: ast.Subscript) -> bool:
    """Whether an index may be a list, a mask or an array of numbers."""
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return any(not _is_plain(context, part) for part in parts)


def _is_plain(context: Context, part: ast.expr) -> bool:
    """Whether it is a slice, a number, an ellipsis or None."""
    if isinstance(part, (ast.Slice, ast.Constant)):
        return True
    if isinstance(part, ast.UnaryOp):
        return _is_plain(context, part.operand)
    return scalar_type(context.analysis.kind(part)) == "int"


def _dtypes(kind: Kind) -> frozenset[str | None]:
    return frozenset(getattr(one, "dtype", None) for one in options(kind))


def _are_floats(value: ast.List | ast.Tuple, own: frozenset[str | None]) -> bool:
    """``[0.5, 2.0]``, of which PyTorch makes float32."""
    return own == {"float32"} and all(isinstance(v, ast.Constant) and type(v.value) is float for v in value.elts)


def is_tensor(kind: Kind) -> bool:
    """Whether a value is a tensor on all ways."""
    return all(isinstance(one, Tensor) for one in options(kind))


__all__ = ["into_chosen", "is_tensor"]
