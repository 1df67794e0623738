"""Iterators that one object walks to their end and another one copies: a copy begins where the first has stopped.

An Evaluator of Chainer's leaves its iterator at the end. ``copy.copy(iterator)`` of one's own gives nothing then, and a
DataLoader would begin anew.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
from chainer2torch.plan.native.objects import Objects

_COPIES = frozenset({"copy.copy", "copy.deepcopy"})


def is_left_at_end(objects: Objects, inst: Inst) -> bool:
    """Whether an iterator is handed to a class that copies it without a reset(), and to another that walks over it."""
    takers: dict[ast.Call, bool] = {}
    for use in objects.uses_of(inst):
        parent = use.parent if isinstance(use.parent, ast.Call) else use.context.source.parents.get(use.parent)
        if use.member or not isinstance(parent, ast.Call) or parent.func is use.node:
            continue
        kinds = options(use.context.kind(parent.func))
        own = [kind.info for kind in kinds if isinstance(kind, Class)]
        theirs = any(isinstance(k, Ref) and objects.analysis.rules.is_subclass(k.name, _EVALUATOR) for k in kinds)
        if own or theirs:
            takers[parent] = any(_copies(objects.analysis, info) for info in own)
    return any(takers.values()) and not all(takers.values())


def _copies(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class of the project copies an iterator and never puts one back."""
    copied = any(
        isinstance(kind := analysis.kind(call.func), Ref) and kind.name in _COPIES
        for call in within(cls.node).of(ast.Call)
    )
    return copied and not any(node.attr == "reset" for node in within(cls.node).of(ast.Attribute))


_EVALUATOR = "chainer.training.extensions.Evaluator"

__all__ = ["is_left_at_end"]
