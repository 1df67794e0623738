"""Hard case: ``with self.init_scope():``."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Unwrap
from chainer2torch.plan.questions.layers import INIT_LIKE_CHAINER, init_scope_of, layers_of_scope
from chainer2torch.rules.table import Row


def init_scope(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The statement disappears: a module registers what is assigned to it anyway. Its layers get Chainer's values."""
    scope = init_scope_of(context, node)
    if scope is None:
        decisions.mark(node, row, row.name, "manual", "used in another form than `with self.init_scope():`")
        return
    line = ""
    if context.choices.init != "torch" and layers_of_scope(context, scope):
        receiver = ast.unparse(scope.items[0].context_expr.func.value)  # type: ignore[attr-defined]
        line = INIT_LIKE_CHAINER.format(receiver=receiver)
    decisions.edit(scope, Unwrap(context.source.start(scope), append=line))
    decisions.mark(node, row, row.name, row.state)
