"""Tests of the class of an array that is a tensor by now."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Batch, Dct, Ref, Tensor, Tup, options, scalar_type
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context


def tested_class(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``isinstance(x, numpy.ndarray)`` of what is a tensor by now, as what a converter gives if it is one array."""
    if len(call.args) != 2:
        return
    kinds = options(context.analysis.kind(call.args[0]))
    arrays = [k for k in kinds if isinstance(k, Batch) or isinstance(k, Tensor) and k.array]
    if not arrays or not all(k in arrays or isinstance(k, (Tup, Dct)) or scalar_type(k) is not None for k in kinds):
        return
    classes = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
    for cls in classes:
        wanted = context.analysis.kind(cls)
        if isinstance(wanted, Ref) and wanted.name == "numpy.ndarray":
            decisions.replace(cls, "torch.Tensor", {})
            decisions.mark(cls, None, "numpy.ndarray", "exact", "", "C2T320")


__all__ = ["tested_class"]
