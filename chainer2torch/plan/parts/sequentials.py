"""Hard case of the native style: `chainer.Sequential`, which becomes nn.Sequential."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.sequentials import MODULES, is_plain_sequential
from chainer2torch.rules.table import Row


def sequential(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The call keeps its form; functions among its layers become modules."""
    assert isinstance(node, (ast.Name, ast.Attribute))
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
        return
    if not is_plain_sequential(context, call):
        emit_call(context, decisions, call, row, node)
        return
    decisions.replace(node, "torch.nn.Sequential", {})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state)
    for layer in call.args:
        function = context.reference(layer)
        if function is not None and function in MODULES:
            decisions.replace(layer, MODULES[function], {})
            decisions.use(layer)
            decisions.mark(layer, context.rules.rows[function], function, "exact")
        elif isinstance(layer, ast.Lambda) or function is not None:
            decisions.wrap(layer, "native.FunctionModule(value)")
        elif not context.analysis.is_link(context.kind(layer)):
            decisions.wrap(layer, "native.as_module(value)")
