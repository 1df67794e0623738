"""Conditions on what PyTorch does not have (ChainerX, other devices) or on whether Chainer is there: they are constant,
and their branches fold."""

from __future__ import annotations

import ast

from chainer2torch.analysis.absent import TESTS, constant_test
from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Unwrap

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


def run(context: Context) -> Decisions:
    """Decides ``xp is chainerx``, ``isinstance(device, ChainerxDevice)`` and the statements that test them."""
    decisions = Decisions(context)
    for node in context.source.of(*TESTS):
        value = constant_test(node, context.analysis.kind)
        if value is None:
            value = _is_there(context, node)
        if value is None:
            continue
        assert isinstance(node, ast.expr)
        outer, truth = _outermost(context, node, value)
        for part in ast.walk(outer):
            if isinstance(part, (ast.Name, ast.Attribute)) and context.reference(part) is not None:
                name = context.reference(part) or ""
                decisions.mark(part, context.rules.rows.get(name) or context.rules.python["chainerx"], name, "exact")
                decisions.use(part)
        parent = context.source.parents.get(outer)
        if isinstance(parent, ast.If) and parent.test is outer:
            _fold_if(context, decisions, parent, truth)
        elif isinstance(parent, ast.IfExp) and parent.test is outer:
            decisions.replace(parent, "value", {"value": context.operand(parent.body if truth else parent.orelse)})
            decisions.remove(parent.orelse if truth else parent.body)
        elif isinstance(parent, ast.BoolOp) and len(parent.values) == 2:  # it decides nothing: the other one does
            other = parent.values[parent.values[0] is outer]
            decisions.replace(parent, "value", {"value": context.operand(other)})
        else:
            decisions.replace(outer, str(truth), {})
    return decisions


def _is_there(context: Context, node: ast.AST) -> bool | None:
    """``chainer is None`` where only a failed import makes it None; None: that is not what it asks."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return None
    sides = (node.left, node.comparators[0])
    names = [side for side in sides if isinstance(side, ast.Name)]
    if len(names) != 1 or not any(isinstance(s, ast.Constant) and s.value is None for s in sides):
        return None
    kind = context.analysis.kind(names[0])
    if not isinstance(kind, Ref) or kind.name not in MODULES or not _only_imported(context, names[0].id):
        return None
    return isinstance(node.ops[0], ast.IsNot)


def _only_imported(context: Context, name: str) -> bool:
    """Whether a name is bound by imports of Chainer at the top, and else only where such an import has failed."""
    source = context.source
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


def _outermost(context: Context, node: ast.expr, value: bool) -> tuple[ast.expr, bool]:
    """The largest expression around a constant that is constant for that reason, and its value."""
    while True:
        parent = context.source.parents.get(node)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            node, value = parent, not value
        elif isinstance(parent, ast.BoolOp) and value is isinstance(parent.op, ast.Or):
            node = parent
        else:
            return node, value


def _fold_if(context: Context, decisions: Decisions, statement: ast.If, truth: bool) -> None:
    # `elif` is not a statement of its own in the source: its test becomes the constant
    parent = context.source.parents.get(statement)
    is_elif = (
        isinstance(parent, ast.If)
        and parent.orelse == [statement]
        and context.source.text.startswith("elif", context.source.start(statement))
    )
    if is_elif:
        decisions.replace(statement.test, str(truth), {})
        return
    decisions.edit(statement, Unwrap(context.source.start(statement), "body" if truth else "orelse"))
    for gone in statement.orelse if truth else statement.body:
        decisions.remove(gone)
