"""Names that a program gives its variables: they tell a drawing of the graph what to write, and nobody else."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement
from chainer2torch.plan.questions.hook_parameters import rule_of_hook
from chainer2torch.plan.questions.walks import walked
from chainer2torch.rules.row import Row


def dropped(context: Context, decisions: Decisions, node: ast.Attribute, row: Row) -> bool:
    """Whether ``x.name = 'images'`` goes: where ``x`` is computed, and nothing in the file reads a variable's name.

    Where names of other values than parameters are read, all of them stay.
    """
    statement = context.source.parents.get(node)
    if not isinstance(statement, ast.Assign) or not _is_name_of_variable(context, statement):
        return False
    computed = _is_computed(context, node.value)  # and so no parameter
    for other in context.source.of(ast.Attribute):
        if other.attr == "name" and isinstance(other.ctx, ast.Load):
            if computed and _is_of_parameter(context, other.value):
                continue
            if any(isinstance(kind, Tensor) or kind == UNKNOWN for kind in options(context.analysis.kind(other.value))):
                return False
    start = context.source.start(statement)
    stay = [s for s in context.source.block(statement) if not _is_name_of_variable(context, s)]
    decisions.edit(statement, Remove(start) if stay else ReplaceStatement(start, "pass\n", {}))
    decisions.mark(node, row, row.name, row.state)
    return True


def _is_name_of_variable(context: Context, statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(target := statement.targets[0], ast.Attribute)
        and target.attr == "name"
        and isinstance(target.value, ast.Name)
        and isinstance(context.analysis.kind(target.value), Tensor)
        and isinstance(statement.value, ast.Constant)
    )


def _is_computed(context: Context, name: ast.expr) -> bool:
    """Whether a name stands for results of arithmetic, functions and links only, as far as its function shows."""
    function = context.source.enclosing(name, ast.FunctionDef)
    if not isinstance(name, ast.Name) or not isinstance(function, ast.FunctionDef):
        return False
    made = [
        n.value
        for n in nodes_of(function)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name.id for t in n.targets)
    ]
    stored = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name.id and _is_bound(n)]
    return bool(made) and len(made) == len(stored) and all(_computes(context, value) for value in made)


def _is_bound(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _computes(context: Context, value: ast.expr) -> bool:
    if isinstance(value, (ast.BinOp, ast.UnaryOp)):
        return True
    if not isinstance(value, ast.Call):
        return False
    called = context.analysis.kind(value.func)
    return context.analysis.is_link(called) or isinstance(called, Ref) and called.name.startswith("chainer.functions.")


def _is_of_parameter(context: Context, value: ast.expr) -> bool:
    """Whether something is a parameter for sure, of a hook or of a walk over a model."""
    return rule_of_hook(context.source, value) is not None or bool(walked(context.source, value))


__all__ = ["dropped"]
