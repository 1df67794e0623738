"""``scatter_add = cupyx.scatter_add`` in one branch and ``np.add.at`` in the other: one helper for both."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row

_ON_HOST = "numpy.add.at"


def scatter_add(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """CuPy's function, and NumPy's where it has the same name in the other branch: arrays of both are tensors now."""
    assert isinstance(node, (ast.Name, ast.Attribute))
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        emit_call(context, decisions, parent, row, node)
        return
    emit_value(context, decisions, node, row)
    for other in _other_values(context, node):
        if ast.unparse(other).endswith(".add.at") and context.kind(other) in (Ref(_ON_HOST), Ref("numpy.ufunc.at")):
            decisions.replace(other, str(row.value), {})


def _other_values(context: Context, node: ast.expr) -> list[ast.expr]:
    """What the same name stands for in the other branch of ``if`` or of a conditional expression."""
    outer = context.source.parents.get(node)
    if isinstance(outer, ast.IfExp):
        return [side for side in (outer.body, outer.orelse) if side is not node]
    branch = context.source.parents.get(outer) if isinstance(outer, ast.Assign) else None
    if not isinstance(outer, ast.Assign) or not isinstance(branch, ast.If):
        return []
    names = {ast.unparse(target) for target in outer.targets}
    others = branch.orelse if outer in branch.body else branch.body
    return [
        statement.value
        for statement in others
        if isinstance(statement, ast.Assign) and {ast.unparse(target) for target in statement.targets} == names
    ]


__all__ = ["scatter_add"]
