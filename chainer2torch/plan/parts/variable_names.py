"""Names that a program gives its variables: they tell a drawing of the graph what to write, and nobody else."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement
from chainer2torch.rules.row import Row


def dropped(context: Context, decisions: Decisions, node: ast.Attribute, row: Row) -> bool:
    """Whether ``x.name = 'images'`` goes: where ``x`` is computed, and nothing in the file reads a variable's name.

    A parameter keeps the name that its layer gave it; where ``x`` may be one is not known, so where names are read all
    of them stay.
    """
    statement = context.source.parents.get(node)
    if not isinstance(statement, ast.Assign) or not _is_name_of_variable(context, statement):
        return False
    for other in context.source.of(ast.Attribute):
        if other.attr == "name" and isinstance(other.ctx, ast.Load):
            if any(isinstance(kind, Tensor) or kind == UNKNOWN for kind in options(context.analysis.kind(other.value))):
                return False
    start = context.source.start(statement)
    stay = [s for s in _block(context, statement) if not _is_name_of_variable(context, s)]
    decisions.edit(statement, Remove(start) if stay else ReplaceStatement(start, "pass\n", {}))
    decisions.mark(node, row, row.name, row.state)
    return True


def _is_name_of_variable(context: Context, statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(target := statement.targets[0], ast.Attribute)
        and target.attr == "name"
        and isinstance(target.value, ast.Name)
        and isinstance(context.analysis.kind(target.value), Tensor)
        and isinstance(statement.value, ast.Constant)
    )


def _block(context: Context, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that holds this one."""
    parent = context.source.parents[statement]
    blocks = (getattr(parent, field, None) for field in ("body", "orelse", "finalbody"))
    return next((block for block in blocks if isinstance(block, list) and statement in block), [statement])


__all__ = ["dropped"]
