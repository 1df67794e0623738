"""Parameters that some calls give an array and others a Variable: their kind is a tensor, and does not say which."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context


def is_fed_arrays(context: Context, node: ast.expr) -> bool:
    """Whether it is a parameter that some call gives an array, whatever others give it."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    info = context.analysis.functions.get(function) if function is not None else None
    return isinstance(node, ast.Name) and info is not None and node.id in info.array_fed


__all__ = ["is_fed_arrays"]
