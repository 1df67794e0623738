"""Names that a function, or the module, gives a value once."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context


def only_value(context: Context, name: ast.Name) -> ast.expr | None:
    """What the only assignment of the function around a name gives to it; None: there are several, or none."""
    scope = context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    stores = [
        n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == name.id and isinstance(n.ctx, ast.Store)
    ]
    parent = context.source.parents.get(stores[0]) if len(stores) == 1 else None
    return parent.value if isinstance(parent, ast.Assign) and parent.targets == stores else None


__all__ = ["only_value"]
