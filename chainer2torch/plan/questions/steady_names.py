"""Names that mean the same later: a lambda that fills a layer without a shape reads them at its first batch."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import is_parameter

_FILLED = "weight"  # the parameter of such a lambda


def is_steady(context: Context, node: ast.expr) -> bool:
    """Whether an argument is a name of the function around it that gets no other value once it has one.

    That is a parameter that nothing assigns to, or a local name with one assignment that is in no loop.
    """
    scope = context.scopes.get(node) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or node.id == _FILLED or not isinstance(scope, (ast.FunctionDef, ast.Lambda)):
        return False
    inside = nodes_of(scope)
    shared = (name for n in inside if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names)
    if node.id in shared:
        return False
    bound = [n for n in inside if isinstance(n, ast.Name) and n.id == node.id and not isinstance(n.ctx, ast.Load)]
    if is_parameter(context, node):
        return not bound
    assigned = context.source.parents.get(bound[0]) if len(bound) == 1 else None
    if not isinstance(assigned, ast.Assign) or context.source.enclosing(assigned, ast.FunctionDef) is not scope:
        return False
    loops = (ast.For, ast.AsyncFor, ast.While)
    return not any(isinstance(outer, loops) for outer in context.source.ancestors(assigned) if outer in inside)


__all__ = ["is_steady"]
