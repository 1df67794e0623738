"""Hard case: ``with self.init_scope():``."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Unwrap
from chainer2torch.plan.questions.init_scopes import init_scope_of
from chainer2torch.plan.questions.layers import (
    init_like_chainer,
    layers_of_scope,
    lines_of_values,
    needs_first_values,
)
from chainer2torch.rules.table import Row


def init_scope(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The statement disappears: a module registers what is assigned to it anyway. Its layers get Chainer's values."""
    scope = init_scope_of(context, node)
    if scope is None:
        decisions.mark(node, row, row.name, "manual", "used in another form than `with self.init_scope():`")
        return
    layers, lines = layers_of_scope(context, scope), []
    if context.choices.init != "torch" and any(needs_first_values(context, layer) for layer in layers):
        receiver = ast.unparse(scope.items[0].context_expr.func.value)  # type: ignore[attr-defined]
        lines.append(f"{init_like_chainer(context)}({receiver})")
    operands: dict[str, Operand] = {}
    for layer in layers:
        statement = context.source.statement(layer)
        assert isinstance(statement, ast.Assign)
        lines += lines_of_values(context, layer, ast.unparse(statement.targets[0]), operands)
    decisions.edit(scope, Unwrap(context.source.start(scope), append="\n".join(lines), operands=operands))
    decisions.mark(node, row, row.name, row.state)
