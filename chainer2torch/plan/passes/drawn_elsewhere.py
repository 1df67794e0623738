"""Batches that an extension draws from the iterator that training draws from: Chainer's epochs end sooner by them.

A Trainer asks its iterator what epoch it is, a manager counts iterations: the program would train longer.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Unknown, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.batch_drawings import HOLDERS, is_self
from chainer2torch.plan.native.programs import TRAINER

_NEXT = frozenset({"next", "__next__"})
_NAME = "chainer.training.updaters.StandardUpdater.get_iterator"
_CODE = "C2T600"
_SOONER = (
    "a batch that is drawn here was one less of Chainer's epoch, which ended sooner by it; here an epoch has as many "
    "iterations as its data has batches, so that training is longer: draw from an iterator of its own"
)


def run(context: Context) -> Decisions:
    """Marks the draws of functions that are given a trainer."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        iterator = _drawn_from(call)
        if iterator is None or not _is_of_a_trainer(context, call):
            continue
        if _is_main(iterator) or isinstance(iterator, ast.Name) and _is_bound(context, call, iterator.id):
            if not any(f" {_NAME}: " in line for line in context.comments_above(call)):
                decisions.mark(call, None, _NAME, "review", _SOONER, _CODE)
    return decisions


def _drawn_from(call: ast.Call) -> ast.expr | None:
    """The iterator in ``iterator.next()`` and ``next(iterator)``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _NEXT and not call.args:
        return call.func.value
    is_next = isinstance(call.func, ast.Name) and call.func.id == "next" and bool(call.args)
    return call.args[0] if is_next else None


def _is_main(node: ast.expr) -> bool:
    """``trainer.updater.get_iterator('main')``, and by a name that is not in the text."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        held, name = node.func, node.args[0]
    elif isinstance(node, ast.Subscript):
        held, name = node.value, node.slice
    else:
        return False
    if not isinstance(held, ast.Attribute) or held.attr not in HOLDERS or is_self(held.value):
        return False
    return not isinstance(name, ast.Constant) or name.value == "main"


def _is_bound(context: Context, call: ast.Call, name: str) -> bool:
    """Whether the function around a draw takes the iterator of an updater by this name."""
    function = context.source.enclosing(call, ast.FunctionDef)
    return function is not None and any(
        isinstance(node, ast.Assign)
        and _is_main(node.value)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        for node in nodes_of(function)
    )


def _is_of_a_trainer(context: Context, node: ast.AST) -> bool:
    """Whether a function around a node is given a trainer: an extension."""
    function = context.source.enclosing(node, ast.FunctionDef)
    while isinstance(function, ast.FunctionDef):
        if any(_may_be_trainer(context, argument) for argument in function.args.args):
            return True
        function = context.source.enclosing(function, ast.FunctionDef)
    return False


def _may_be_trainer(context: Context, argument: ast.arg) -> bool:
    kinds = options(context.kind(argument))
    known = any(isinstance(kind, Inst) and context.analysis.derives(kind.cls, TRAINER) for kind in kinds)
    return known or argument.arg == "trainer" and all(isinstance(kind, Unknown) for kind in kinds)
