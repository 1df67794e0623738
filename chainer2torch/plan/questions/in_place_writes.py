"""Arrays of Variables that are written in place: ``x.data[:, 0] = 1``, ``a = y.array; a *= 2``.

Chainer's graph goes on with what is written. PyTorch refuses to go back through a tensor that was changed behind
``detach()``; it does not watch ``x.data``.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.rows import PARAMETERS

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_METHODS = frozenset({"fill", "partition", "put", "sort"})


def is_written_in_place(context: Context, array: ast.Attribute) -> bool:
    """Whether a function writes into the array of a Variable, also through a name. Parameters have no graph."""
    if isinstance(array.value, ast.Attribute) and array.value.attr in PARAMETERS:
        return False
    if _is_written(context, array):
        return True
    parent = context.source.parents.get(array)
    if not isinstance(parent, ast.Assign) or parent.value is not array:
        return False
    names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
    scope = context.source.enclosing(array, *_FUNCTIONS)
    uses = (
        n for n in context.source.of(ast.Name) if n.id in names and context.source.enclosing(n, *_FUNCTIONS) is scope
    )
    return any(context.source.start(n) > context.source.start(array) and _is_written(context, n) for n in uses)


def _is_written(context: Context, node: ast.expr) -> bool:
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.AugAssign):
        return parent.target is node
    if isinstance(parent, ast.Attribute) and parent.attr in _METHODS:
        return context.is_called(parent)
    while isinstance(parent, ast.Subscript) and parent.value is node:
        if not isinstance(parent.ctx, ast.Load):
            return True
        node, parent = parent, context.source.parents.get(parent)
    return False


__all__ = ["is_written_in_place"]
