"""What becomes of ``optimizer.add_hook(...)``: an argument of the optimizer, a line before each step, or a call."""

from __future__ import annotations

import ast
import dataclasses
import enum
from collections.abc import Sequence

from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.marks import hooks_parameters
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.optimizer_forms import DECAY, HOOKS, OWN_HOOK, Hook
from chainer2torch.plan.native.optimizer_places import Placement, model_of
from chainer2torch.plan.native.optimizers import hook_name, hook_of, steps_together
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.questions.own_settings import has_own_settings
from chainer2torch.plan.questions.read_gradients import reads_behind_steps


class Way(enum.Enum):
    """How a hook is written."""

    ARGUMENT = "weight_decay= of the optimizer"
    LINE = "a line before each step"
    GROUP = "optimizer.param_groups[0]['weight_decay'] = rate"
    CALL = "before_step(optimizer, ...)"
    OBJECT = "add_hook(optimizer, hook): an object that the program makes elsewhere, or of a class of its own"


@dataclass(frozen=True, eq=False)
class Hooked:
    """One ``optimizer.add_hook(Hook(...))`` and how it is written."""

    call: ast.Call  # add_hook(...)
    made: ast.Call  # WeightDecay(...)
    name: str
    hook: Hook
    context: Context
    way: Way
    fills: bool = False  # whether a line in front of it fills the gradients that are missing

    @property
    def operands(self) -> dict[str, Operand]:
        """The arguments of the hook, by Chainer's names."""
        signature = self.context.rules.rows[self.name].signature
        assert signature is not None
        given = signature.bind(self.made.args, self.made.keywords).given
        filled = {name: Operand(code=text) for name, text in signature.defaults.items()}
        # as text: the statement may go before the rewriter comes to where the argument is used
        return {**filled, **{name: Operand(code=self.context.source.segment(node)) for name, node in given.items()}}


def hooks_of(objects: Objects, uses: Sequence[Use], placements: Sequence[Placement]) -> list[Hooked]:
    """The hooks of an optimizer in their order; ``placements``: where it is made, in one of several ways perhaps."""
    found = [use for use in uses if use.member == "add_hook" and use.call is not None]
    found = list({use.call: use for use in found}.values())
    found.sort(key=lambda use: (use.context.module.path, use.context.source.start(use.node)))
    steps = [use for use in uses if use.member == "update"]
    together = any(map(steps_together, uses))  # a line before the step would see the gradients before their mean
    homes = {places.function_of(objects.context_of(call), call) or objects.context_of(call).module: call
             for made in placements for call in made.setups}  # fmt: skip
    if len(homes) < 2 or not all(_home(use) in homes for use in (*found, *steps)):
        return _in_order(found, steps, placements, together)
    parts = [[[use for use in some if _home(use) is home] for some in (found, steps)] for home in homes]
    return [hook for own, steps in parts for hook in _in_order(own, steps, placements, together)]


def _home(use: Use) -> object:
    """The function in which a use stands, or its file."""
    return places.function_of(use.context, use.node) or use.context.module


def _in_order(found: list[Use], steps: list[Use], placements: Sequence[Placement], together: bool) -> list[Hooked]:
    """The hooks of one optimizer, in the order in which they are added."""
    hooked: list[Hooked] = []
    for i, use in enumerate(found):
        context, call = use.context, use.call
        made = hook_of(context, call) if call is not None else None
        assert call is not None
        if made is None:
            hooked.append(Hooked(call, call, "", OWN_HOOK, context, Way.OBJECT))
            continue
        one = Hooked(call, made, hook_name(context, made), HOOKS[hook_name(context, made)], context, Way.CALL)
        way = Way.CALL
        decays = one.name == DECAY and i == len(found) - 1 and all(p.form.decays for p in placements)
        if decays and not reads_behind_steps(context) and not hooks_parameters(context.analysis, context.module):
            several = has_own_settings(context.analysis, context.module)  # groups
            way = Way.ARGUMENT if _is_argument(one, placements) else Way.CALL if several else Way.GROUP
        elif (
            not together
            and not one.hook.misses
            and all(h.way is Way.LINE for h in hooked)
            and _is_line(one, placements, steps)
        ):
            way = Way.LINE
        hooked.append(dataclasses.replace(one, way=way))
    return hooked


def _is_argument(one: Hooked, placements: Sequence[Placement]) -> bool:
    """Whether the rate is known where the optimizer is made, and the hook always added."""
    context, statement = one.context, one.context.source.statement(one.call)
    for placement in placements:
        if placement.maker not in context.source.parents:
            return False
        first = context.source.statement(placement.maker)
        if not (
            places.always_follows(context, first, statement)
            and places.is_steady(context, one.made.args[0] if one.made.args else one.made.keywords[0].value,
                                 places.between(context, first, statement))
        ):  # fmt: skip
            return False
    return True


def _is_line(one: Hooked, placements: Sequence[Placement], steps: Sequence[Use]) -> bool:
    """Whether every step is made in the function that adds the hook, behind it, with the same model and arguments."""
    context, statement = one.context, one.context.source.statement(one.call)
    function = places.function_of(context, statement)
    suite = places.suite_of(context, statement)
    arguments = [*one.made.args, *(k.value for k in one.made.keywords)]
    setups = [call for placement in placements for call in placement.setups]
    if not all(any(_sets_up_here(context, call, function) for call in p.setups) for p in placements):
        return False
    models = [model_of(call) for call in setups if _sets_up_here(context, call, function)]
    for step in steps:
        if step.context is not context or places.function_of(context, step.node) is not function or step.call is None:
            return False
        if not any(a in suite for a in context.source.ancestors(step.node)):
            return False
        if context.source.start(step.node) < context.source.start(statement):
            return False
    behind = [
        node
        for node in nodes_of(function or context.source.tree)
        if hasattr(node, "lineno") and context.source.start(node) > context.source.start(statement)
    ]
    return (
        bool(steps)
        and len({ast.unparse(m) for m in models}) == 1
        and all(places.is_simple(e) and not places.is_rebound(e, behind) for e in (*arguments, models[0]))
    )


def _sets_up_here(context: Context, setup: ast.Call, function: ast.AST | None) -> bool:
    return setup in context.source.parents and places.function_of(context, setup) is function


__all__ = ["Hooked", "Way", "hooks_of"]
