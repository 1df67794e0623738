"""What is asked of ``trainer.updater`` where nothing takes its place: by the names of its members.

A manager has the counters. So they are asked of it, also where only its name says that an object is a trainer:

    trainer.updater.iteration                        trainer.iteration
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.objects import Objects
from chainer2torch.plan.native.programs import TRAINER
from chainer2torch.plan.native.trainers import replaces_updater

COUNTS = frozenset({"iteration", "epoch", "epoch_detail"})
UNKNOWN_MEMBER = ""  # what the small updaters do not have, or where it is not known what is asked
_MORE = frozenset(
    "update update_core get_iterator _iterators next_batch _batches is_new_epoch previous_epoch_detail finalize "
    "serialize connect_trainer state_dict load_state_dict".split()
)
_NAME = "trainer"
_BY_NAME = (Ref("builtins.getattr"), Ref("builtins.hasattr"))


def asked_members(objects: Objects, module: ModuleInfo, stands_in: frozenset[ast.Attribute]) -> Iterator[set[str]]:
    """The members that a file asks of the updaters of Trainers, or of what may be one, at each of its places.

    ``stands_in``: the places where the manager stands for its updater.
    """
    context = objects.context(module)
    replaced = {
        use.parent
        for uses in objects.uses.values()
        for use in uses
        if use.member == "updater" and use.context.module is module and replaces_updater(use)
    }
    for node in module.source.of(ast.Attribute):
        if node.attr != "updater" or not isinstance(node.ctx, ast.Load) or node in replaced or node in stands_in:
            continue
        if any(_may_be_trainer(objects, kind) for kind in options(context.kind(node.value))) and not _is_count(
            context, module.source.parents[node]
        ):
            yield _members(context, node)


def _may_be_trainer(objects: Objects, kind: object) -> bool:
    return not isinstance(kind, (Inst, Ref)) or isinstance(kind, Inst) and objects.analysis.derives(kind.cls, TRAINER)


def _members(context: Context, node: ast.expr) -> set[str]:
    parent = context.source.parents[node]
    name = _name_asked(context, parent, node)
    if name is not None:
        return {UNKNOWN_MEMBER if name in _MORE else name}
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        target = parent.targets[0]
        scope = context.scope(target, target.id)
        names = [n for n in context.source.named.get(target.id, ()) if n is not target]
        loads = [n for n in names if context.scope(n, target.id) is scope]
        if all(isinstance(n.ctx, ast.Load) and _name_asked(context, context.source.parents[n], n) for n in loads):
            return set().union(*(_members(context, n) for n in loads))
    return {UNKNOWN_MEMBER}


def _name_asked(context: Context, parent: ast.AST, node: ast.expr) -> str | None:
    """The member in ``updater.name``, ``getattr(updater, 'name', None)``; None: something else is done with it."""
    if isinstance(parent, ast.Attribute):
        return parent.attr if isinstance(parent.ctx, ast.Load) else None
    if not isinstance(parent, ast.Call) or context.kind(parent.func) not in _BY_NAME or len(parent.args) < 2:
        return None
    name = parent.args[1]
    literal = parent.args[0] is node and isinstance(name, ast.Constant) and isinstance(name.value, str)
    return str(name.value) if literal and isinstance(name, ast.Constant) else None


def _is_count(context: Context, node: ast.AST) -> bool:
    """``trainer.updater.iteration`` of what nothing is known of but its name: every trainer is a manager."""
    if not isinstance(node, ast.Attribute) or node.attr not in COUNTS or not isinstance(node.ctx, ast.Load):
        return False
    inner = node.value
    if not isinstance(inner, ast.Attribute) or inner.attr != "updater" or context.kind(inner.value) != UNKNOWN:
        return False
    owner = inner.value
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return name.lower().endswith(_NAME)


def emit(context: Context, decisions: Decisions) -> None:
    """The manager in the place of the updater where only its name says what it is."""
    for node in context.source.of(ast.Attribute):
        if isinstance(node, ast.Attribute) and _is_count(context, node):
            assert isinstance(node.value, ast.Attribute)
            decisions.replace(node, f"MANAGER.{node.attr}", {"MANAGER": context.operand(node.value.value)})


__all__ = ["COUNTS", "UNKNOWN_MEMBER", "asked_members", "emit"]
