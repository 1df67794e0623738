"""Conditions on what PyTorch does not have (ChainerX, other devices): they are constant, and their branches fold."""
from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.edits import Unwrap
from chainer2torch.plan.sites import Plan

_NEVER = frozenset({
    "chainerx", "chainer.backend.ChainerxDevice", "chainer.backend.IntelDevice", "chainerx.ndarray",
    "chainer.backends.intel64",
})


def conditions(plan: Plan) -> None:
    """Decides ``xp is chainerx``, ``isinstance(device, ChainerxDevice)`` and the statements that test them."""
    for node in plan.source.nodes:
        value = _never(plan, node)
        if value is None:
            continue
        assert isinstance(node, ast.expr)
        outer, truth = _outermost(plan, node, value)
        for part in ast.walk(outer):
            if isinstance(part, (ast.Name, ast.Attribute)) and plan.reference(part) is not None:
                name = plan.reference(part) or ""
                plan.mark(part, plan.rules.rows.get(name), name, "exact")
                plan.use(part)
        parent = plan.source.parents.get(outer)
        if isinstance(parent, ast.If) and parent.test is outer:
            _fold_if(plan, parent, truth)
        else:
            plan.replace(outer, str(truth), {})


def _never(plan: Plan, node: ast.AST) -> bool | None:
    """The constant value of a test for something that PyTorch does not have."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        sides = (node.left, node.comparators[0])
        if any(_is_never(plan, s) for s in sides) and not all(_is_never(plan, s) for s in sides):
            return isinstance(node.ops[0], ast.IsNot)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance" and \
            len(node.args) == 2 and _is_never(plan, node.args[1]):
        return False
    kind = plan.analysis.kind(node)
    if isinstance(node, ast.Call) and not node.args:
        callee = plan.analysis.kind(node.func)
        if isinstance(callee, Ref) and callee.name == "chainerx.is_available":
            return False
    if isinstance(node, ast.Attribute) and isinstance(kind, Ref) and kind.name == "chainerx.__available__":
        return False
    return None


def _is_never(plan: Plan, node: ast.expr) -> bool:
    kind = plan.analysis.kind(node)
    return isinstance(kind, Ref) and kind.name in _NEVER


def _outermost(plan: Plan, node: ast.expr, value: bool) -> tuple[ast.expr, bool]:
    """The largest expression around a constant that is constant for that reason, and its value."""
    while True:
        parent = plan.source.parents.get(node)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            node, value = parent, not value
        elif isinstance(parent, ast.BoolOp) and value is isinstance(parent.op, ast.Or):
            node = parent
        else:
            return node, value


def _fold_if(plan: Plan, statement: ast.If, truth: bool) -> None:
    # `elif` is not a statement of its own in the source: its test becomes the constant
    parent = plan.source.parents.get(statement)
    is_elif = isinstance(parent, ast.If) and parent.orelse == [statement] and \
        plan.source.text.startswith("elif", plan.source.start(statement))
    if is_elif:
        plan.replace(statement.test, str(truth), {})
        return
    plan.edits[statement] = Unwrap(plan.source.start(statement), "body" if truth else "orelse")
    for gone in statement.orelse if truth else statement.body:
        plan.removed.add(gone)
