"""Conditions on what PyTorch does not have (ChainerX, other devices) or on whether Chainer is there: they are constant,
and their branches fold."""

from __future__ import annotations

import ast

from chainer2torch.analysis.absent import TESTS, constant_test
from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.edits import Unwrap
from chainer2torch.plan.sites import Plan

_ROOTS = frozenset({"chainer", "chainermn"})
# a program that does without Chainer binds these to None: what it did then is no matter, it has PyTorch now
MODULES = frozenset(
    {"chainer", "chainermn"}
    | {
        f"chainer.{name}"
        for name in (
            "functions",
            "links",
            "optimizers",
            "optimizer",
            "training",
            "training.extensions",
            "cuda",
            "backends",
            "backends.cuda",
            "backend",
            "datasets",
            "dataset",
            "iterators",
            "initializers",
            "serializers",
            "reporter",
            "distributions",
            "function",
            "variable",
            "testing",
            "utils",
        )
    }
)


def conditions(plan: Plan) -> None:
    """Decides ``xp is chainerx``, ``isinstance(device, ChainerxDevice)`` and the statements that test them."""
    for node in plan.source.of(*TESTS):
        value = constant_test(node, plan.analysis.kind)
        if value is None:
            value = _is_there(plan, node)
        if value is None:
            continue
        assert isinstance(node, ast.expr)
        outer, truth = _outermost(plan, node, value)
        for part in ast.walk(outer):
            if isinstance(part, (ast.Name, ast.Attribute)) and plan.reference(part) is not None:
                name = plan.reference(part) or ""
                plan.mark(part, plan.rules.rows.get(name) or plan.rules.python["chainerx"], name, "exact")
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


def _is_there(plan: Plan, node: ast.AST) -> bool | None:
    """``chainer is None`` where only a failed import makes it None; None: that is not what it asks."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return None
    sides = (node.left, node.comparators[0])
    names = [side for side in sides if isinstance(side, ast.Name)]
    if len(names) != 1 or not any(isinstance(s, ast.Constant) and s.value is None for s in sides):
        return None
    kind = plan.analysis.kind(names[0])
    if not isinstance(kind, Ref) or kind.name not in MODULES or not _only_imported(plan, names[0].id):
        return None
    return isinstance(node.ops[0], ast.IsNot)


def _only_imported(plan: Plan, name: str) -> bool:
    """Whether a name is bound by imports of Chainer at the top, and else only where such an import has failed."""
    source = plan.source
    if any(a.arg == name for a in source.of(ast.arg)) or any(
        n.name == name for n in source.of(ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)
    ):
        return False
    for statement in source.of(ast.Import, ast.ImportFrom):
        if any((a.asname or a.name.split(".")[0]) == name for a in statement.names):
            module = statement.module or "" if isinstance(statement, ast.ImportFrom) else statement.names[0].name
            if (
                isinstance(statement, ast.ImportFrom)
                and statement.level
                or module.split(".")[0] not in _ROOTS
                or any(not isinstance(a, (ast.Module, ast.Try, ast.ExceptHandler)) for a in source.ancestors(statement))
            ):
                return False
    for stored in source.of(ast.Name):
        if stored.id == name and not isinstance(stored.ctx, ast.Load):
            handler = source.enclosing(stored, ast.ExceptHandler)
            if (
                not isinstance(handler, ast.ExceptHandler)
                or not isinstance(handler.type, ast.Name)
                or handler.type.id not in ("ImportError", "ModuleNotFoundError")
            ):
                return False
    return True


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
    is_elif = (
        isinstance(parent, ast.If)
        and parent.orelse == [statement]
        and plan.source.text.startswith("elif", plan.source.start(statement))
    )
    if is_elif:
        plan.replace(statement.test, str(truth), {})
        return
    plan.edits[statement] = Unwrap(plan.source.start(statement), "body" if truth else "orelse")
    for gone in statement.orelse if truth else statement.body:
        plan.removed.add(gone)
