"""``x.volatile = ...`` of version 1: where what is behind ``x`` has no graph there, none is behind it here.

A flag that is taken back (``y = gen(z); y.volatile = False`` with a volatile ``z``) lets a new graph begin there:
``y = y.detach()``. One that follows the mode (``x.volatile = not self.train``) keeps no graph where nothing goes back:
that is the declared difference `volatile-graphs`, as for a Variable that is made so.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement
from chainer2torch.plan.questions.unrecorded import asks_for_flags, is_made_volatile
from chainer2torch.rules.table import Row

_OFF = frozenset({"off", "OFF", False})
_DIFFERENCE = "volatile-graphs"
_STEPS = 4


def assigned(context: Context, decisions: Decisions, node: ast.Attribute, row: Row) -> bool:
    """Decides on an assignment to the flag, if it can be decided."""
    statement = context.source.parents.get(node)
    name = node.value
    if (
        context.choices.style != "native"
        or not (isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(name, ast.Name))
        or context.analysis.once(asks_for_flags)
    ):
        return False
    off = isinstance(statement.value, ast.Constant) and statement.value.value in _OFF
    if off and _is_volatile(context, name, statement):
        template = f"{name.id} = self.detach()"
        start = context.source.start(statement)
        decisions.edit(statement, ReplaceStatement(start, template, {"self": context.operand(name)}))
    elif not off and _is_a_mode(statement.value) and _is_given(context, name):
        decisions.edit(statement, Remove(context.source.start(statement)))
        decisions.remove(statement)
    else:
        return False
    decisions.mark(node, row, row.name, "exact", difference=_DIFFERENCE)
    return True


def _is_a_mode(value: ast.expr) -> bool:
    """Whether a value is a name, an attribute, or what is not one: nothing is called for it."""
    value = value.operand if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not) else value
    return isinstance(value, (ast.Name, ast.Attribute))


def _is_given(context: Context, name: ast.Name) -> bool:
    """Whether a name is a parameter of its function: what a model was called with."""
    function = context.source.enclosing(name, ast.FunctionDef, ast.Lambda)
    return isinstance(function, ast.FunctionDef) and any(
        isinstance(n, ast.arg) and n.arg == name.id for n in nodes_of(function.args)
    )


def _is_volatile(context: Context, name: ast.Name, at: ast.stmt, steps: int = _STEPS) -> bool:
    """Whether what a name was given last, before a statement of the same block, is computed from a volatile Variable.

    Chainer refuses to compute with volatile Variables and others together.
    """
    parent = context.source.parents[at]
    block = next(
        (b for f in ("body", "orelse", "finalbody") if isinstance(b := getattr(parent, f, None), list) and at in b), []
    )
    for before in reversed(block[: block.index(at)] if block else []):
        if not any(isinstance(n, ast.Name) and n.id == name.id and _is_stored(n) for n in nodes_of(before)):
            continue
        if not isinstance(before, ast.Assign) or not isinstance(before.targets[0], ast.Name):
            return False
        return _comes_from_one(context, before.value, before, steps)
    return False


def _is_stored(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _comes_from_one(context: Context, value: ast.expr, at: ast.stmt, steps: int) -> bool:
    if isinstance(value, ast.Call) and is_made_volatile(context, value):
        return True
    if isinstance(value, ast.Name):
        return bool(steps) and _is_volatile(context, value, at, steps - 1)
    if isinstance(value, ast.Call):
        parts = [*value.args, *(k.value for k in value.keywords)]
    elif isinstance(value, ast.BinOp):
        parts = [value.left, value.right]
    else:
        return False
    return any(_comes_from_one(context, part, at, steps) for part in parts)
