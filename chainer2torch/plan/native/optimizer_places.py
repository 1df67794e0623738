"""Where the one call stands that makes an optimizer of torch.optim, and where it gets its parameters.

Chainer makes an optimizer without a model, ``setup`` gives it one. PyTorch's needs the parameters at once. So the two
statements become one: where the optimizer was made, if the model is the same there, else where ``setup`` stood. Where
neither can be, a partial is made, or an optimizer with an empty group that gets the parameters later.
"""

from __future__ import annotations

import ast
import enum

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Dct, Inst, Kind, Lst, Tup, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.escapes import asks_unknown
from chainer2torch.plan.native.late_setups import is_late, runs_once
from chainer2torch.plan.native.objects import Concern, Objects, Use
from chainer2torch.plan.native.optimizer_forms import CHOSEN, NAMED, Form, form_of, may_be_empty, unrefused
from chainer2torch.rules.signature import BindError, Bound

_STATEMENTS = frozenset({"use_cleargrads", "new_epoch", "zero_grads"})
_ELSEWHERE = "set up at a place that is not seen from where it is made"


class Place(enum.Enum):
    """Where the one call stands that makes the optimizer."""

    MAKER = "where Chainer's optimizer was made"
    SETUP = "where setup() stood"
    CHAIN = "Adam().setup(model), in one expression"
    LATER = "a partial where Chainer's optimizer was made, called where setup() stood"
    EMPTY = "where Chainer's optimizer was made, without parameters; it gets them where setup() stood"


@dataclass(frozen=True, eq=False)
class Placement:
    """How one optimizer is made: the two calls of the source, and which of them becomes the new one."""

    place: Place
    maker: ast.Call
    setup: ast.Call | None  # None: never set up
    form: Form
    bound: Bound
    setups: tuple[ast.Call, ...]  # more than one only for a partial
    options: ast.expr | None = None  # the dictionary in ``Adam(**options)``, or ``*args`` of ``Adam(*args)``

    @property
    def model(self) -> ast.expr:
        """The expression of the model."""
        assert self.setup is not None
        return model_of(self.setup)


def model_of(setup: ast.Call) -> ast.expr:
    """The model in ``optimizer.setup(model)``."""
    return setup.args[0] if setup.args else setup.keywords[0].value


def holds_no_model(analysis: Facts, kind: Kind) -> bool:
    """Whether what an optimizer is set up with is a container of the program, and not a list of links."""
    return all(isinstance(k, (Tup, Lst, Dct)) and not analysis.is_link(k) for k in options(kind))


def setups_of(objects: Objects, inst: Inst) -> list[Use]:
    """The uses of an optimizer that give it a model."""
    found = {use.node: use for use in objects.uses_of(inst) if use.member == "setup"}
    return list(found.values())


def placement(objects: Objects, inst: Inst) -> Placement | str:
    """How an optimizer is made in PyTorch, or why it cannot be."""
    if inst not in objects.forms:
        objects.forms[inst] = _placement(objects, inst)
    found = objects.forms[inst]
    assert isinstance(found, (Placement, str))
    return found


def _placement(objects: Objects, inst: Inst) -> Placement | str:
    maker = objects.analysis.makers[inst.site]
    form = form_of(inst.cls)
    row = objects.analysis.rules.rows.get(inst.cls) if isinstance(inst.cls, str) else None
    if form is None or row is None or row.signature is None:
        return "an optimizer of the project's own" if form is None else "without a rule"
    hidden = _spread(maker, form)
    args = maker.args if not isinstance(hidden, ast.Starred) else []
    keywords = maker.keywords if hidden is None else [k for k in maker.keywords if k.arg]
    try:
        bound = Bound({}) if form is NAMED else row.signature.bind(args, keywords)
    except BindError as error:
        return str(error)
    uses = setups_of(objects, inst)
    calls = [use.call for use in uses if use.call is not None]
    if bound.starred or unrefused(form, bound):
        return f"its argument `{unrefused(form, bound) or '**'}` has no place"
    if not uses:
        seen = may_be_empty(form) and not objects.once(asks_unknown) and not _steps_without_model(objects, inst)
        return Placement(Place.EMPTY, maker, None, form, bound, (), hidden) if seen else "never set up"
    if len(calls) < len(uses) or any(len(call.args) + len(call.keywords) != 1 for call in calls):
        return "set up in a way that is not understood"
    if any(isinstance(a, ast.Starred) for call in calls for a in call.args):
        return "set up in a way that is not understood"
    use, family = uses[0], [other for use in uses for other in _beside(objects, use)]
    place: Place | str = "set up at several places"
    if len(uses) == 1:
        place = _place(objects, inst, maker, use, calls[0])
    if place is not Place.CHAIN and (
        len(uses) > 1 or any(_is_made_elsewhere(objects, other, use, calls[0]) for other in family)
    ):
        place = _later(objects, family, uses, place)
    return place if isinstance(place, str) else Placement(place, maker, calls[0], form, bound, tuple(calls), hidden)


def _spread(maker: ast.Call, form: Form) -> ast.expr | None:
    """The one dictionary of settings in a call, or its one ``*args``, if the form takes such a thing."""
    found = [k.value for k in maker.keywords if k.arg is None] + [a for a in maker.args if isinstance(a, ast.Starred)]
    if len(found) != 1 or form.spread is None:
        return None
    if isinstance(found[0], ast.Starred) and (len(maker.args) > 1 or form.spread == "options"):
        return None
    return found[0]


def _later(objects: Objects, family: list[Inst], uses: list[Use], place: Place | str) -> Place | str:
    """How some optimizers are made that cannot be made with their model, or all at the place of one ``setup``."""
    handed = [use for use in objects.unknown_sites() if objects.sees(use.context, uses[0].context)]
    if not any(use.member == "setup" for use in handed) and all(_is_late(objects, other, uses) for other in family):
        return Place.LATER
    forms = [form_of(other.cls) for other in family]
    if all(_begins_empty(objects, other, form) for other, form in zip(family, forms)):
        return Place.EMPTY
    return place if all(other.site for other in family) else _ELSEWHERE


def _begins_empty(objects: Objects, inst: Inst, form: Form | None) -> bool:
    """Whether an optimizer may get its parameters later: no hook stays from one model to the next."""
    if form is None or not may_be_empty(form):
        return False
    if not inst.site:  # one of those of its class: each of them is asked
        return not form.fills
    setups, hooked = setups_of(objects, inst), any(use.member == "add_hook" for use in objects.uses_of(inst))
    whole = all(use.call is not None and is_statement(use.context, use.call) for use in setups)
    return (whole or not (form.fills or hooked)) and (not hooked or not sets_up_again(objects, inst))


def sets_up_again(objects: Objects, inst: Inst) -> bool:
    """Whether one optimizer may get one model after another, as far as one can see."""
    setups, maker = setups_of(objects, inst), objects.analysis.makers.get(inst.site)
    if len(setups) != 1 or maker is None or setups[0].call is None:
        return True
    context, setup = setups[0].context, setups[0].call
    if maker not in context.source.parents or places.function_of(context, maker) is not places.function_of(
        context, setup
    ):
        return not runs_once(context, setup)
    loops = {node for node in context.source.ancestors(setup) if isinstance(node, (ast.For, ast.While))}
    return bool(loops - set(context.source.ancestors(maker)))


def _steps_without_model(objects: Objects, inst: Inst) -> bool:
    """Whether a program makes steps and sets no optimizer up: what gives it a model is not seen."""
    made_in, own = objects.uses_of(inst)[0].context, objects.concern(inst)
    uses = [u for uses in objects.uses.values() for u in uses if objects.concern(u.inst) is own]
    members = {u.member for u in uses if objects.sees(made_in, u.context)}
    return "setup" not in members  # another file may set it up, which no import connects with this one


def _beside(objects: Objects, use: Use) -> list[Inst]:
    """The optimizers that reach one ``setup``: what is called there is a partial for all of them or for none."""
    return objects.of(use.context.kind(use.node))


def _is_made_elsewhere(objects: Objects, inst: Inst, use: Use, setup: ast.Call) -> bool:
    maker = objects.analysis.makers.get(inst.site)
    return maker is None or isinstance(_place(objects, inst, maker, use, setup), str)


def _is_late(objects: Objects, inst: Inst, uses: list[Use]) -> bool:
    """Whether an optimizer is set up at these places and no other, each of which can call a partial."""
    maker, own = objects.analysis.makers.get(inst.site), setups_of(objects, inst) if inst.site else []
    same = {use.call for use in own} == {use.call for use in uses}
    alone = all(use.call is not None and is_statement(use.context, use.call) for use in own)
    by_place = maker is not None and inst.cls == CHOSEN and bool(maker.args)  # behind the parameters
    return maker is not None and same and alone and not by_place and is_late(objects, inst, maker, own)


def _place(objects: Objects, inst: Inst, maker: ast.Call, use: Use, setup: ast.Call) -> Place | str:
    context = use.context
    if maker not in context.source.parents:
        return _ELSEWHERE
    if use.node is maker:
        form = form_of(inst.cls)
        return (
            Place.CHAIN
            if is_assigned(context, setup) or not (form is not None and form.fills)
            else "set up inside of a larger expression"
        )
    first, second = context.source.statement(maker), context.source.statement(setup)
    if not isinstance(first, (ast.Assign, ast.Return)) or not places.always_follows(context, first, second):
        return _ELSEWHERE
    if not is_statement(context, setup):
        return "set up inside of a larger expression"
    model = setup.args[0] if setup.args else setup.keywords[0].value
    rebound = places.is_rebound(model, nodes_of(first))  # `optimizer, net = SGD(), Net()`
    if not rebound and places.is_steady(context, model, places.between(context, first, second)):
        return Place.MAKER
    return _at_setup(objects, inst, maker, use, first, second)


def _at_setup(
    objects: Objects, inst: Inst, maker: ast.Call, use: Use, first: ast.stmt, second: ast.stmt
) -> Place | str:
    """Whether the statement that makes the optimizer can move to that of ``setup``."""
    context = use.context
    if (
        not isinstance(first, ast.Assign)
        or first.value is not maker
        or len(first.targets) != 1
        or ast.unparse(first.targets[0]) != ast.unparse(use.node)
        or second not in places.suite_of(context, first)
        or any(i.site != inst.site for i in objects.of(context.kind(use.node)))
    ):
        return "its model is not known yet where it is made"
    start, end = context.source.span(first)[1], context.source.start(second)
    if any(
        other.context is not context or start <= context.source.start(other.node) < end
        for other in objects.uses_of(inst)
        if other.node is not maker and not context.source.start(other.node) >= end and not _goes(other)
    ):
        return "used before it is set up"
    arguments = [*maker.args, *(k.value for k in maker.keywords)]
    rebound = any(places.is_rebound(a, nodes_of(first)) for a in arguments)
    if rebound or not all(places.is_steady(context, a, places.between(context, first, second)) for a in arguments):
        return "its arguments are not the same where it is set up"
    return Place.SETUP


def _goes(use: Use) -> bool:
    """``opt.use_cleargrads()``: a statement that nothing stands in the place of."""
    statement = use.context.source.parents.get(use.call) if use.call is not None else None
    return use.member in _STATEMENTS and isinstance(statement, ast.Expr) and not (use.call and use.call.args)


def is_assigned(context: Context, setup: ast.Call) -> bool:
    statement = context.source.parents[setup]
    return isinstance(statement, ast.Assign) and len(statement.targets) == 1


def is_statement(context: Context, setup: ast.Call) -> bool:
    """``opt.setup(model)`` or ``opt = opt.setup(model)`` as a whole statement."""
    statement = context.source.parents[setup]
    if isinstance(statement, ast.Expr):
        return True
    return (
        isinstance(statement, ast.Assign)
        and isinstance(setup.func, ast.Attribute)
        and [ast.unparse(t) for t in statement.targets] == [ast.unparse(setup.func.value)]
    )


def families(objects: Objects, concern: Concern) -> list[list[Inst]]:
    """The native optimizers; those that share a ``setup`` (one of several is made) stand together."""
    by_setup: dict[ast.Call, list[Inst]] = {}
    for uses in objects.uses.values():
        inst = uses[0].inst
        if objects.concern(inst) is concern and inst.site and not objects.reason(inst):
            found = placement(objects, inst)
            assert isinstance(found, Placement)
            by_setup.setdefault(found.setup or found.maker, []).append(inst)
    return list(by_setup.values())


__all__ = [
    "Place",
    "Placement",
    "families",
    "holds_no_model",
    "is_assigned",
    "is_statement",
    "model_of",
    "placement",
    "sets_up_again",
]
