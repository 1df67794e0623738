"""Names whose function asks them for a shape: they hold arrays for sure."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_PLAIN = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_CONDITIONAL = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def has_shape(context: Context, node: ast.AST, by_then: bool = True) -> bool:
    """Whether a name holds an array for sure: its function has asked it for a shape by then, which no list has.

    Or it will, where it need not be ``by_then``: anything else raises some lines below.
    """
    scope = context.scopes.get(node) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or not isinstance(scope, ast.FunctionDef):
        return False
    stores = [
        n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)
    ]
    is_parameter = any(isinstance(n, ast.arg) and n.arg == node.id for n in nodes_of(scope.args))
    return len(stores) + is_parameter == 1 and any(
        isinstance(n, ast.Attribute)
        and n.attr in ("shape", "ndim")
        and isinstance(n.value, ast.Name)
        and n.value.id == node.id
        and not any(isinstance(a, _CONDITIONAL) for a in context.source.ancestors(n) if a in inside)
        for statement in scope.body
        if isinstance(statement, _PLAIN) and (not by_then or statement.lineno <= node.lineno)
        for inside in [set(nodes_of(statement))]
        for n in inside
    )
