"""``torch.from_numpy(link.W.data)`` of a program with both libraries: what it hands on is a tensor by now."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Ref, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.receivers import is_held_array

_FROM_NUMPY = "torch.from_numpy"


def run(context: Context) -> Decisions:
    """``torch.from_numpy`` takes arrays of NumPy alone; ``torch.as_tensor`` shares the memory of either."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        if len(call.args) == 1 and context.analysis.kind(call.func) == Ref(_FROM_NUMPY) and _is_held(context, call):
            decisions.replace(call.func, "torch.as_tensor", {})
    return decisions


def _is_held(context: Context, call: ast.Call) -> bool:
    """Whether the argument is an array on Chainer's side, or may be one: what a Variable of unknown kind holds."""
    value = call.args[0]
    kinds = options(context.analysis.kind(value))
    if any(isinstance(kind, Tensor) for kind in kinds):
        return True
    while isinstance(value, ast.Subscript):
        value = value.value
    return UNKNOWN in kinds and context.imports_chainer and is_held_array(context, value)
