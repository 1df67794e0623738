"""Entries of Chainer's configuration that say how Chainer computes, never what: PyTorch has no such switch."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement
from chainer2torch.plan.parts.native_devices import alone, has_others
from chainer2torch.rules.table import Row


def idle_setting(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``chainer.config.use_ideep = 'auto'`` goes; what reads the entry is a person's to decide."""
    statement = context.source.parents.get(node)
    if (
        not isinstance(statement, ast.Assign)
        or statement.targets != [node]
        or not _computes_nothing(context, statement.value)
        or not alone(context, statement)
    ):
        decisions.mark(node, row, row.name, "manual", row.note)
        return
    start = context.source.start(statement)
    edit = Remove(start) if has_others(context, statement) else ReplaceStatement(start, "pass\n", {})
    decisions.edit(statement, edit)
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state)


def _computes_nothing(context: Context, value: ast.expr) -> bool:
    """Whether nothing is lost with an expression: constants, names, and attributes of the program's own names."""
    return all(
        isinstance(part, (ast.Constant, ast.Name, ast.Attribute, ast.expr_context, ast.UnaryOp, ast.unaryop))
        and not (isinstance(part, (ast.Name, ast.Attribute)) and context.reference(part))
        for part in nodes_of(value)
    )
