"""``y.grad = g`` and ``y.backward()``: ``y.backward(g)``, where both are in plain sight."""

from __future__ import annotations

import ast

from chainer2torch.analysis.graphs import GraphUse
from chainer2torch.analysis.kinds import Tensor, UNKNOWN, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.questions.graph_use import graph_use
from chainer2torch.plan.questions.seeds import start_of, started_by


def handed_over(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """Decides on ``y.grad = g`` or ``y.backward()`` if they are one call in the output; gives whether they are."""
    if context.choices.style != "native" or not _may_be_variable(context, node.value):
        return False
    parent = context.source.parents.get(node)
    if node.attr == "backward" and isinstance(parent, ast.Call) and parent.func is node:
        start = start_of(context, parent)
        if start is None or not _is_plain(context, parent):
            return False
        value = "value" if _is_tensor(context, start.value) else tensor_of(context, start.value)
        options_ = ", retain_graph=True" if graph_use(context, parent).shared else ""
        operands = {"y": context.operand(node.value), "value": context.operand(start.value)}
        decisions.replace(parent, f"y.backward({value}{options_})", operands)
    elif node.attr == "grad" and isinstance(parent, ast.Assign) and parent.targets == [node]:
        call = started_by(context, parent)
        if call is None or not _is_plain(context, call):
            return False
        decisions.edit(parent, Remove(context.source.start(parent)))
    else:
        return False
    row = context.rules.rows[f"chainer.Variable.{node.attr}"]
    decisions.mark(node, row, row.name, row.state)
    return True


def _may_be_variable(context: Context, value: ast.expr) -> bool:
    return all(k == UNKNOWN or isinstance(k, Tensor) and not k.array for k in options(context.kind(value)))


def _is_tensor(context: Context, value: ast.expr) -> bool:
    return all(isinstance(k, Tensor) for k in options(context.kind(value)))


def _is_plain(context: Context, call: ast.Call) -> bool:
    """Whether no graph was cut before, which the helper would heed."""
    use = graph_use(context, call)
    return use in (GraphUse(), GraphUse(shared=True)) and context.imports_chainer
