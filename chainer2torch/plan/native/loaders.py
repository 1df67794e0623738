"""What an updater or evaluator needs of an iterator: batches, lists of examples, or one batch at a time."""

from __future__ import annotations

import ast
import enum

from chainer2torch.analysis.kinds import Inst, Kind, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.calls import bound_call
from chainer2torch.plan.native.handed import are_handed
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.own_evaluators import goes_around
from chainer2torch.plan.native.own_updaters import takes_lists

_CONVERTERS = frozenset({"chainer.dataset.concat_examples", "chainer.dataset.convert.concat_examples"})
_TAKERS = ("chainer.training.updaters.StandardUpdater", "chainer.training.extensions.Evaluator")


class Need(enum.Enum):
    """What is asked of an iterator."""

    BATCHES = "a loader of batches"
    EXAMPLES = "a loader of lists of examples, for a converter of the program's own"
    DRAWN = "lists of examples, one at a time: for an updater of the program's own"


def need_of(objects: Objects, inst: Inst) -> Need | str | None:
    """What those that take an iterator need of it; a reason when that differs, None when nobody takes it."""
    found = {need for use in objects.uses_of(inst) for need in [_need(objects, use)] if need is not None}
    if len(found) > 1:
        return "taken by several that want its batches in different forms"
    return found.pop() if found else None


def _need(objects: Objects, use: Use) -> Need | None:
    if use.member:
        return None
    call = next((a for a in use.context.source.ancestors(use.node) if isinstance(a, ast.Call)), None)
    kinds = options(use.context.kind(call)) if call is not None else ()
    if call is not None and any(isinstance(k, Inst) and goes_around(objects, k) for k in kinds):
        return _by_converter(use.context, call, _TAKERS[1])
    if takes_lists(use):
        handed = are_handed(objects.analysis, use.context.module)
        return Need.EXAMPLES if handed else Need.DRAWN
    takers = [k for k in kinds if isinstance(k, Inst) and _takes(objects, k)]
    if call is None or not takers or not isinstance(takers[0].cls, str):
        return None
    return _by_converter(use.context, call, takers[0].cls)


def _by_converter(context: Context, call: ast.Call, taker: str) -> Need:
    bound = bound_call(context, call, taker)
    return Need.BATCHES if bound is None or is_default(context, bound.given.get("converter")) else Need.EXAMPLES


def _takes(objects: Objects, kind: Kind) -> bool:
    return isinstance(kind, Inst) and any(objects.analysis.derives(kind.cls, base) for base in _TAKERS)


def is_default(context: Context, converter: ast.expr | None) -> bool:
    """Whether a converter is the one that Chainer takes by itself."""
    return converter is None or context.reference(converter) in _CONVERTERS


__all__ = ["Need", "is_default", "need_of"]
