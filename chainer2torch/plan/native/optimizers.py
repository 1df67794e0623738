"""The concern of optimizers: which of them can be made by one call of torch.optim, where their model is known.

Chainer makes an optimizer without a model, ``setup`` gives it one. PyTorch's needs the parameters at once. So the two
statements become one: where the optimizer was made, if the model is the same there, else where ``setup`` stood.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Concern, Objects, Use
from chainer2torch.plan.native.class_checks import asked_classes, possible_classes
from chainer2torch.plan.native.late_setups import is_late
from chainer2torch.plan.native.lending import is_lent, shifts, wrapped_by
from chainer2torch.plan.native.own_hooks import is_own_hook
from chainer2torch.plan.native.optimizer_forms import CORRECTS, FORMS, HOOKS, Form, unrefused
from chainer2torch.plan.project_rules import changes_rules
from chainer2torch.rules.signature import BindError, Bound

SAVED = frozenset(
    f"chainer.serializers.{name}" for name in ("save_npz", "load_npz", "save_hdf5", "load_hdf5")
)  # functions that take what is saved as their second argument
CLEARS = frozenset({"cleargrads", "zerograds"})
_STATEMENTS = frozenset({"use_cleargrads", "new_epoch", "zero_grads"})
CHANGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "clip_grads": ("native.clip_gradients(self.param_groups[0]['params'], value)",),
        "weight_decay": (
            "native.fill_missing_gradients(self)",
            "native.decay_weights(self.param_groups[0]['params'], value)",
        ),
    }
)  # methods that change the gradients at once, and what takes their place
BY_NAME: Mapping[str, tuple[str, int]] = MappingProxyType(
    {"getattr": ("native.setting", 2), "setattr": ("native.set_setting", 3)}
)  # Python's functions, with the number of their arguments
_ELSEWHERE = "set up at a place that is not seen from where it is made"


class Place(enum.Enum):
    """Where the one call stands that makes the optimizer."""

    MAKER = "where Chainer's optimizer was made"
    SETUP = "where setup() stood"
    CHAIN = "Adam().setup(model), in one expression"
    LATER = "a partial where Chainer's optimizer was made, called where setup() stood"


@dataclasses.dataclass(frozen=True, eq=False)
class Placement:
    """How one optimizer is made: the two calls of the source, and which of them becomes the new one."""

    place: Place
    maker: ast.Call
    setup: ast.Call
    form: Form
    bound: Bound
    setups: tuple[ast.Call, ...]  # more than one only for a partial

    @property
    def model(self) -> ast.expr:
        """The expression of the model."""
        return model_of(self.setup)


def model_of(setup: ast.Call) -> ast.expr:
    """The model in ``optimizer.setup(model)``."""
    return setup.args[0] if setup.args else setup.keywords[0].value


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
    form = FORMS.get(inst.cls) if isinstance(inst.cls, str) else None
    row = objects.analysis.rules.rows.get(inst.cls) if isinstance(inst.cls, str) else None
    if form is None or row is None or row.signature is None:
        return "an optimizer of the project's own" if form is None else "without a rule"
    try:
        bound = row.signature.bind(maker.args, maker.keywords)
    except BindError as error:
        return str(error)
    uses = setups_of(objects, inst)
    calls = [use.call for use in uses if use.call is not None]
    if bound.starred or unrefused(form, bound):
        return f"its argument `{unrefused(form, bound) or '**'}` has no place"
    if not uses or len(calls) < len(uses) or any(len(call.args) + len(call.keywords) != 1 for call in calls):
        return "never set up" if not uses else "set up in a way that is not understood"
    if any(isinstance(a, ast.Starred) for call in calls for a in call.args):
        return "set up in a way that is not understood"
    use, family = uses[0], [other for use in uses for other in _beside(objects, use)]
    place: Place | str = "set up at several places"
    if len(uses) == 1:
        place = _place(objects, inst, maker, use, calls[0])
    if place is not Place.CHAIN and (
        len(uses) > 1 or any(_is_made_elsewhere(objects, other, use, calls[0]) for other in family)
    ):
        place = Place.LATER if all(_is_late(objects, other, uses) for other in family) else place
    return place if isinstance(place, str) else Placement(place, maker, calls[0], form, bound, tuple(calls))


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
    alone = all(use.call is not None and _is_statement(use.context, use.call) for use in own)
    return maker is not None and same and alone and is_late(objects, inst, maker, own)


def _place(objects: Objects, inst: Inst, maker: ast.Call, use: Use, setup: ast.Call) -> Place | str:
    context = use.context
    if maker not in context.source.parents:
        return _ELSEWHERE
    if use.node is maker:
        handed = objects.any_file_seen_from(context, _hands_optimizers_on)
        return Place.CHAIN if _is_assigned(context, setup) or not handed else "set up inside of a larger expression"
    first, second = context.source.statement(maker), context.source.statement(setup)
    if not isinstance(first, (ast.Assign, ast.Return)) or not places.always_follows(context, first, second):
        return _ELSEWHERE
    if not places.is_alone(context, second) or not _is_statement(context, setup):
        return "set up inside of a larger expression"
    model = setup.args[0] if setup.args else setup.keywords[0].value
    if places.is_steady(context, model, places.between(context, first, second)):
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
        or not places.is_alone(context, first)
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
    if not all(places.is_steady(context, a, places.between(context, first, second)) for a in arguments):
        return "its arguments are not the same where it is set up"
    return Place.SETUP


def _goes(use: Use) -> bool:
    """``opt.use_cleargrads()``: a statement that nothing stands in the place of."""
    statement = use.context.source.parents.get(use.call) if use.call is not None else None
    return use.member in _STATEMENTS and isinstance(statement, ast.Expr) and not (use.call and use.call.args)


def _is_assigned(context: Context, setup: ast.Call) -> bool:
    statement = context.source.parents[setup]
    return isinstance(statement, ast.Assign) and len(statement.targets) == 1


def _hands_optimizers_on(module: ModuleInfo) -> bool:
    """Whether a file may ask optimizers for their models."""
    return ".target" in module.source.text or "pdater" in module.source.text


def _is_statement(context: Context, setup: ast.Call) -> bool:
    """``opt.setup(model)`` or ``opt = opt.setup(model)`` as a whole statement."""
    statement = context.source.parents[setup]
    if isinstance(statement, ast.Expr):
        return True
    return (
        isinstance(statement, ast.Assign)
        and isinstance(setup.func, ast.Attribute)
        and [ast.unparse(t) for t in statement.targets] == [ast.unparse(setup.func.value)]
    )


# -- uses ----------------------------------------------------------------------------------------------------------


def _made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    if isinstance(inst.cls, str) and context.reference(call.func) is None:
        return "its class is chosen at run time"
    if len(objects.of(context.kind(call))) != 1:
        return "its class is one of several"
    if changes_rules(objects.analysis, context.module):
        return "the project changes how single parameters are updated"
    found = placement(objects, inst)
    return found if isinstance(found, str) else ""


def _used(objects: Objects, use: Use) -> str | None:
    if not use.member:
        understood = saved_by(use) is not None or shifts(use) or by_name(use) or steps_together(use)
        return "" if understood or asked_classes(objects, use) else None
    if use.inst.site and use.inst.cls not in possible_classes(objects, use):
        return ""  # the program asks for another class in front of it
    if use.member == "target":
        return "" if isinstance(use.parent, ast.Attribute) and isinstance(use.parent.ctx, ast.Load) else None
    if use.call is not None:
        return _called(objects, use, use.call)
    attribute = setting_node(use)
    assert isinstance(attribute, ast.Attribute)
    place = setting_of(objects, use)
    if place is not None:
        is_whole = place.startswith("self.") and place.endswith("']")
        return "" if is_whole or isinstance(attribute.ctx, ast.Load) else f"`.{use.member}` is set"
    return None


def setting_of(objects: Objects, use: Use) -> str | None:
    """What a setting that is read or set becomes, as a template; None: it is none that all the classes have."""
    attribute = setting_node(use)
    name = attribute.attr if isinstance(attribute, ast.Attribute) else ""
    classes = possible_classes(objects, use) if use.inst.site else _classes_seen_from(objects, use)
    found = {_setting(cls, name) for cls in classes}
    return found.pop() if len(found) == 1 else None


def setting_node(use: Use) -> ast.AST:
    """The whole of ``optimizer.alpha`` or ``optimizer.hyperparam.alpha``."""
    outer = use.context.source.parents.get(use.parent)
    return outer if use.member == "hyperparam" and isinstance(outer, ast.Attribute) else use.parent


def _setting(cls: object, name: str) -> str | None:
    form = FORMS.get(cls) if isinstance(cls, str) else None
    if form is not None and name in form.hyperparameters:
        return f"self.param_groups[0]{form.hyperparameters[name]}"
    return "native.corrected_rate(self)" if name == "lr" and cls in CORRECTS else None


def _classes_seen_from(objects: Objects, use: Use) -> set[object]:
    """The classes of all optimizers that a file's program makes: one whose site is not known is among them."""
    insts = [uses[0] for uses in objects.uses.values() if uses[0].inst.site]
    return {u.inst.cls for u in insts if objects.concern(u.inst) is CONCERN and objects.sees(use.context, u.context)}


def needs_target(objects: Objects, insts: Iterable[Inst], lent: Callable[[Inst], bool]) -> bool:
    """Whether somebody asks one of these optimizers for its model; ``lent``: whether its taker does."""
    return any(lent(inst) or _asks_for_target(objects, inst) for inst in insts)


def _asks_for_target(objects: Objects, inst: Inst) -> bool:
    made_in = objects.uses_of(inst)[0].context
    handed = [u for u in objects.unknown_sites() if objects.concern(u.inst) is CONCERN]
    uses = [*objects.uses_of(inst), *(u for u in handed if objects.sees(made_in, u.context))]
    return any(use.member == "target" and target_clears(use) is None for use in uses)


def _called(objects: Objects, use: Use, call: ast.Call) -> str:
    context, name = use.context, use.member
    whole = isinstance(context.source.parents[call], ast.Expr)
    if name == "setup":
        return ""
    if whole and name == "update":
        alone = places.is_alone(context, context.source.statement(call))
        if loss_given(call) is None:
            return "an update that is not understood"
        starred = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
        whole = not call.args and not call.keywords or alone and not starred
        return "" if whole else "an update that is not understood"
    if whole and name == "add_hook" and places.is_alone(context, context.source.statement(call)):
        known = hook_of(context, call) is not None or is_own_hook(context, call)
        return "" if known else "a hook that is not understood"
    if whole and name in CHANGES and len(call.args) == 1 and not call.keywords:
        return "" if places.is_alone(context, context.source.statement(call)) else f"`{name}()`"
    if whole and name in _STATEMENTS and not call.args and not call.keywords:
        counted = any(other.member in ("epoch", "t") for other in objects.uses_of(use.inst))
        return "" if places.is_alone(context, context.source.statement(call)) and not counted else f"`{name}()`"
    return f"`.{name}()` has no counterpart"


def loss_given(call: ast.Call) -> list[ast.expr] | None:
    """The function of a loss and its arguments in ``optimizer.update(...)``; None: keywords without a function."""
    own = [keyword.value for keyword in call.keywords if keyword.arg == "lossfun"]
    return [*call.args, *own] if call.args or own or not call.keywords else None


def hook_of(context: Context, call: ast.Call) -> ast.Call | None:
    """The call that makes the hook in ``opt.add_hook(WeightDecay(r))``, of a class that is understood."""
    made = call.args[0] if call.args else None
    if not isinstance(made, ast.Call) or any(k.arg != "name" for k in call.keywords):
        return None
    name = hook_name(context, made)
    row = context.rules.rows.get(name)
    if name not in HOOKS or row is None or row.signature is None or context.reference(made.func) is None:
        return None
    try:
        return made if not row.signature.bind(made.args, made.keywords).starred else None
    except BindError:
        return None


def hook_name(context: Context, made: ast.Call) -> str:
    """Chainer's own name of the class of a hook."""
    kind = context.kind(made.func)
    row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) else None
    return row.name if row is not None else ""


def by_name(use: Use) -> str:
    """The helper in the place of ``setattr(optimizer, name, value)`` or ``getattr(optimizer, name)``; "" if none."""
    call = use.parent
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in BY_NAME:
        return ""
    helper, count = BY_NAME[call.func.id]
    whole = count == 2 or isinstance(use.context.source.parents[call], ast.Expr)
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    return helper if whole and len(call.args) == count and call.args[0] is use.node and not starred else ""


def steps_together(use: Use) -> bool:
    """Whether ``create_multi_node_optimizer(optimizer, comm)`` makes an optimizer average gradients in its steps."""
    return wrapped_by(use, "chainermn.create_multi_node_optimizer")


def saved_by(use: Use) -> ast.Call | None:
    """The call that writes or reads the state of an object: ``save_npz(path, optimizer)``."""
    call = use.parent
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.keywords or call.args[1] is not use.node:
        return None
    kinds = options(use.context.kind(call.func))
    known = all(isinstance(k, Ref) and k.name in SAVED for k in kinds) and len(kinds) == 1
    return call if known and use.context.reference(call.func) is not None else None


def target_clears(use: Use) -> ast.Call | None:
    """The call ``optimizer.target.cleargrads()``."""
    parents = use.context.source.parents
    method = parents.get(use.parent)
    call = parents.get(method) if isinstance(method, ast.Attribute) and method.attr in CLEARS else None
    return call if isinstance(call, ast.Call) and call.func is method and not call.args else None


_BASES = ("chainer.Optimizer", "chainer.GradientMethod")
CONCERN = Concern("optimizers", _BASES, _made, _used, in_displays=True, lent=is_lent)

__all__ = [
    "CHANGES",
    "CLEARS",
    "CONCERN",
    "Place",
    "Placement",
    "by_name",
    "hook_name",
    "needs_target",
    "setting_node",
    "setting_of",
    "hook_of",
    "loss_given",
    "placement",
    "saved_by",
    "model_of",
    "steps_together",
    "target_clears",
]
