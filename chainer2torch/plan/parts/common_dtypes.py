"""Factors of a product of matrices in one dtype: NumPy converts them, PyTorch refuses others."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Kind, Tensor
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap

_ORDERED = {"bool": 0, "int32": 1, "int64": 2, "float32": 3, "float64": 4}


def same_dtype(context: Context, decisions: Decisions, left: ast.expr, a: Kind, right: ast.expr, b: Kind) -> None:
    """Converts one factor of a product of matrices, as NumPy does; PyTorch multiplies equal dtypes only."""
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


__all__ = ["same_dtype"]
