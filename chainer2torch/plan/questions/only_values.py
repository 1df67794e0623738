"""Names that a function, or the module, gives a value once."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context


def only_value(context: Context, name: ast.Name) -> ast.expr | None:
    """What the only assignment of the function around a name gives to it; None: there are several, or none."""
    scope = context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    stores = context.ask(_stores, scope).get(name.id, [])
    parent = context.source.parents.get(stores[0]) if len(stores) == 1 else None
    return parent.value if isinstance(parent, ast.Assign) and parent.targets == stores else None


def _stores(context: Context, scope: ast.AST) -> dict[str, list[ast.Name]]:
    """The places that give each name a value, in a function or outside of functions: a module may be long."""
    found: dict[str, list[ast.Name]] = {}
    for node in within(scope).of(ast.Name):
        if isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, []).append(node)
    return found


__all__ = ["only_value"]
