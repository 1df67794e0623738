"""Hard case: ``with self.init_scope():``."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Unwrap
from chainer2torch.plan.questions.init_scopes import init_scope_of, own_scopes, stays
from chainer2torch.plan.questions.layer_values import lines_of_layers
from chainer2torch.plan.questions.layers import is_made_by_scope, layers_of_scope
from chainer2torch.plan.questions.module_names import RENAMED, attribute_name
from chainer2torch.rules.table import Row

_OF_SOME = "Only classes of the project that write it have `init_scope` here; leave the block out for others."


def init_scope(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The statement disappears: a module registers what is assigned to it anyway. Its layers get Chainer's values.

    It stays where links ask whether they are within it.
    """
    if isinstance(node, ast.Attribute) and is_own_scope(context, decisions, node):
        return
    scope = init_scope_of(context, node)
    if scope is None:
        decisions.mark(node, row, row.name, "manual", "used in another form than `with self.init_scope():`")
        return
    layers = [(call, _target(context, call)) for call in layers_of_scope(context, scope)]

    def is_made(call: ast.Call) -> bool:
        return is_made_by_scope(context, scope, call)

    operands: dict[str, Operand] = {}
    receiver = ast.unparse(scope.items[0].context_expr.func.value)  # type: ignore[attr-defined]
    lines = lines_of_layers(context, layers, receiver, is_made, operands)
    call = scope.items[0].context_expr
    owner = call.func.value  # type: ignore[attr-defined]
    is_asked = stays(context, owner)
    if is_asked:
        decisions.replace(call, "native.init_scope(link)", {"link": context.operand(owner)})
    if lines or not is_asked:
        branch = "whole" if is_asked else "body"
        decisions.edit(scope, Unwrap(context.source.start(scope), branch, "\n".join(lines), operands))
    for call, target in layers:
        written = ast.unparse(context.source.statement(call).targets[0])  # type: ignore[attr-defined]
        if written != target:
            decisions.mark(node, row, row.name, "review", RENAMED.format(written, target))
            return
    decisions.mark(node, row, row.name, row.state)


def is_own_scope(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """Whether it is one that the project writes, whose block stays; where some objects have none, a person is asked."""
    own = own_scopes(context, node.value)
    if any(own) and not all(own):
        decisions.mark(node, None, "?.init_scope", "review", _OF_SOME, "C2T390")
    return any(own)


def _target(context: Context, layer: ast.Call) -> str:
    statement = context.source.statement(layer)
    assert isinstance(statement, ast.Assign)
    target = statement.targets[0]
    if not isinstance(target, ast.Attribute):
        return ast.unparse(target)
    return f"{ast.unparse(target.value)}.{attribute_name(context, target, target.attr)}"
