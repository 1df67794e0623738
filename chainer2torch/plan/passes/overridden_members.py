"""Methods of the user's classes that Chainer calls and nothing calls any more (``update_one_cpu``)."""

from __future__ import annotations

import ast

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.keeping import later
from chainer2torch.plan.parts.other_members import ELSEWHERE
from chainer2torch.plan.parts.private_methods import MESSAGE, dead_method
from chainer2torch.plan.project_rules import has_short_optimizers
from chainer2torch.plan.questions import clearing, own_rules

_OF_OPTIMIZERS = frozenset({"call_hooks", "reallocate_cleared_grads"})
_CLEARING = (
    "Chainer's optimizer calls this method when it computes a loss; here zero_grad() of the optimizer stands in its "
    "place. Call it there if it does more"
)

_TRAINING = (
    "Chainer's optimizers train and hook what this method gives; here they get parameters(). Hand them this where it "
    "gives others"
)


def run(context: Context) -> Decisions:
    """Marks the methods of the user's classes that Chainer calls and nothing calls any more (``update_one_cpu``)."""
    decisions = Decisions(context)
    for node in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(node)
        if info is None:
            continue
        theirs = [context.rules.canonical(c) for c in context.analysis.mro(info) if isinstance(c, str)]
        for name, method in info.methods.items():
            dead = dead_method(context, theirs, name)
            if dead is not None and not later(context, decisions, method.node, None, dead[0]):
                decisions.mark(method.node, None, dead[0], "review", MESSAGE, dead[1])
            if (message := _passed_by(context, info, theirs, name)) and not later(
                context, decisions, method.node, None, name
            ):
                decisions.mark(method.node, None, f"{theirs[0]}.{name}", "review", message, "C2T500")
        old = _has_old_base(context, info)
        if any(context.rules.is_subclass(c, e) for c in theirs for e in ELSEWHERE):
            continue
        for name, method in info.methods.items():
            if old and name in own_rules.OLD_METHODS:  # the base that it has calls it
                decisions.mark(method.node, None, f"{own_rules.METHOD}.{name}", "exact")
                continue
            row = next((row for c in theirs for row in [context.rules.member(c, name)] if row is not None), None)
            if row is not None and row.state == "manual" and not later(context, decisions, method.node, row, row.name):
                decisions.mark(method.node, row, row.name, "manual", row.note)
    return decisions


def _passed_by(context: Context, cls: ClassInfo, theirs: list[str], name: str) -> str:
    """Why nothing calls a method in the native style that Chainer's optimizers call; "": that does not hold."""
    if context.choices.style != "native":
        return ""
    if name in _OF_OPTIMIZERS and own_rules.METHOD in theirs:
        return MESSAGE if has_short_optimizers(context.analysis, context.module) else ""
    if not context.analysis.derives(cls, "chainer.Link"):
        return ""
    if name == "params":
        return _TRAINING if context.analysis.once(clearing.sets_up) else ""
    return _CLEARING if name in clearing.CLEARS and context.analysis.once(clearing.optimizers_clear) else ""


def _has_old_base(context: Context, cls: ClassInfo) -> bool:
    """Whether the base of an optimizer of version 1 calls its methods (plan/native/own_bases.py)."""
    native = context.choices.style == "native" and has_short_optimizers(context.analysis, context.module)
    return native and own_rules.updates_itself(context.analysis, cls)
