"""Optimizers of torch.optim that heed marks at parameters: where the line stands that says so.

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
compat.before_step(optimizer, torch.nn.utils.clip_grad_norm_, 10)
compat.heed_marks(optimizer)                                  # behind the last hook, which sees all gradients
compat.freeze(model.encoder.parameters())
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst
from chainer2torch.plan.context import Context
from chainer2torch.plan.marks import marks_parameters
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.optimizer_places import Place, Placement, is_assigned, is_statement, sets_up_again

HEED = "native.heed_marks"
_CHANGED = "the project changes how single parameters are updated"
_DECAYS_FIRST = "native.AdamW"  # it changes parameters before its hooks are called


def heeds(objects: Objects, inst: Inst) -> bool:
    """Whether an optimizer has to heed the marks of parameters."""
    return any(marks_parameters(objects.analysis, use.context.module) for use in objects.uses_of(inst)[:1])


def why_not(objects: Objects, inst: Inst, made: Placement) -> str:
    """Why an optimizer of torch.optim cannot heed marks, or is not known to be the only one; "" if it can."""
    setup = made.setup
    if setup is None or made.form.torch == _DECAYS_FIRST or sets_up_again(objects, inst):
        return _CHANGED
    context = objects.context_of(setup)
    statement = context.source.statement(setup)
    whole = is_assigned(context, setup) if made.place is Place.CHAIN else is_statement(context, setup)
    unseen = [use for use in objects.unknown_sites() if use.member in ("setup", "add_hook")]
    if not whole or not places.is_alone(context, statement) or any(objects.sees(context, u.context) for u in unseen):
        return _CHANGED
    hooks = [use for use in objects.uses_of(inst) if use.member == "add_hook" and use.call is not None]
    if any(use.context is not context for use in hooks):
        return _CHANGED
    last = last_hook(context, hooks)
    others = [statement, *(context.source.statement(use.node) for use in hooks if use.call is not last)]
    behind = last is None or all(places.always_follows(context, o, context.source.statement(last)) for o in others)
    return "" if behind else _CHANGED


def last_hook(context: Context, uses: list[Use]) -> ast.Call | None:
    """The last of the calls that give an optimizer hooks, by their places."""
    calls = [use.call for use in uses if use.call is not None and use.context.module is context.module]
    return max(calls, key=context.source.start, default=None)


__all__ = ["HEED", "heeds", "last_hook", "why_not"]
