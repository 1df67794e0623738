"""Conditions on what PyTorch does not have (ChainerX, other devices) or on whether Chainer is there: they are constant,
and their branches fold."""
from __future__ import annotations

import ast

from chainer2torch.analysis.absent import MODULES, TESTS, constant_test
from chainer2torch.analysis.kinds import Const, Ref
from chainer2torch.plan.edits import Unwrap
from chainer2torch.plan.sites import Plan


def conditions(plan: Plan) -> None:
    """Decides ``xp is chainerx``, ``isinstance(device, ChainerxDevice)`` and the statements that test them."""
    for node in plan.source.of(*TESTS):
        value = constant_test(node, plan.analysis.kind)
        if value is None:
            value = _has_name(plan, node)
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
        elif isinstance(parent, ast.IfExp) and parent.test is outer:
            plan.replace(parent, "value", {"value": plan.operand(parent.body if truth else parent.orelse)})
            plan.removed.add(parent.orelse if truth else parent.body)
        elif isinstance(parent, ast.BoolOp) and len(parent.values) == 2:  # it decides nothing: the other one does
            other = parent.values[parent.values[0] is outer]
            plan.replace(parent, "value", {"value": plan.operand(other)})
        else:
            plan.replace(outer, str(truth), {})


def _has_name(plan: Plan, node: ast.AST) -> bool | None:
    """``hasattr(chainer.functions, 'clip')``: whether Chainer's last version has it; None: it asks something else."""
    if not isinstance(node, ast.Call) or len(node.args) != 2 or \
            plan.analysis.kind(node.func) != Ref("builtins.hasattr"):
        return None
    module, name = plan.analysis.kind(node.args[0]), plan.analysis.kind(node.args[1])
    if not isinstance(module, Ref) or module.name not in MODULES or not isinstance(name, Const) or \
            not isinstance(name.value, str) or name.value.startswith("_"):
        return None
    row = plan.rules.canonical(f"{module.name}.{name.value}")
    return row in plan.rules.rows or plan.rules.is_namespace(row)


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
