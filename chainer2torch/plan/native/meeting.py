"""Iterators whose batches meet in one update of a program's own updater: ``{'main': source, 'target': other}``.

Chainer fills every batch, so the two are always of one size. The short last batch of a DataLoader would meet a whole
one of another, so loaders that meet leave it out.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.native.batch_drawings import iterator_name
from chainer2torch.plan.native.calls import is_dict
from chainer2torch.plan.native.flows import takers_of_display
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.own_updaters import UPDATER


def meets_another(objects: Objects, inst: Inst) -> bool:
    """Whether an updater of the program's own draws from an iterator, and in the same update from another one."""
    return any(_meets(objects, use) for use in objects.uses_of(inst) if not use.member)


def _meets(objects: Objects, use: Use) -> bool:
    pairs = _display(use)
    own = [name for name, value in pairs if value is use.node]
    others = [name for name, value in pairs if value is not use.node and _is_iterator(objects, use, value)]
    return any(
        own[:1] == [name] and drawn.intersection(others)
        for cls in _updaters(use)
        for drawn in [_drawn(objects, cls)]
        for name in drawn
    )


def _display(use: Use) -> list[tuple[object, ast.expr]]:
    """The names and values of the dictionary in which an iterator stands."""
    context, parent = use.context, use.parent
    call = context.source.parents.get(parent) if isinstance(parent, ast.keyword) else None
    if isinstance(call, ast.Call) and is_dict(context, call):
        return [(k.arg, k.value) for k in call.keywords]
    if not isinstance(parent, ast.Dict):
        return []
    return [(k.value if isinstance(k, ast.Constant) else None, v) for k, v in zip(parent.keys, parent.values)]


def _updaters(use: Use) -> list[ClassInfo]:
    """The classes of updaters that get the dictionary."""
    around = (a for a in use.context.source.ancestors(use.node) if isinstance(a, ast.Call))
    calls = takers_of_display(use.context, use.node) or [call for call in around if not is_dict(use.context, call)][:1]
    kinds = [kind for call in calls for kind in options(use.context.kind(call.func))]
    return [k.info for k in kinds if isinstance(k, Class) and use.context.analysis.derives(k.info, UPDATER)]


def _drawn(objects: Objects, cls: ClassInfo) -> set[object]:
    """The names of the iterators from which a class draws; without an update of its own it draws from the main one."""
    owners = [owner for owner in objects.analysis.mro(cls) if isinstance(owner, ClassInfo)]
    names = (iterator_name(node) for owner in owners for node in ast.walk(owner.node))
    return {name.value for name in names if name is not None}


def _is_iterator(objects: Objects, use: Use, value: ast.expr) -> bool:
    concerns = [objects.concern(k) for k in options(use.context.kind(value))]
    return any(concern is not None and concern.name == "iterators" for concern in concerns)


__all__ = ["meets_another"]
