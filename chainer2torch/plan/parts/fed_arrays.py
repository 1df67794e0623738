"""Values that are an array at times and a Variable at others: their kind is a tensor, and does not say which."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Tensor, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching


def is_fed_arrays(context: Context, node: ast.expr) -> bool:
    """Whether it is a parameter that some call gives an array, or a name that is bound to one on some way."""
    if isinstance(node, ast.IfExp):
        return any(_is_array(context, one) or is_fed_arrays(context, one) for one in (node.body, node.orelse))
    if not isinstance(node, ast.Name):
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is not None and node.id in info.array_fed:
        return True
    return any(
        _is_array(context, value) or isinstance(value, ast.IfExp) and is_fed_arrays(context, value)
        for value in reaching(context, node)
    )


def _is_array(context: Context, node: ast.expr) -> bool:
    return any(
        isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in options(context.analysis.kind(node))
    )


__all__ = ["is_fed_arrays"]
