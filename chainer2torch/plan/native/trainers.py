"""Trainers, updaters, evaluators and triggers: whether every use of them has a native form."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, Inst, Tup, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Replace
from chainer2torch.plan.match import holds_ints
from chainer2torch.plan.native import extensions, own_evaluators, own_extensions, own_updaters, shifts
from chainer2torch.plan.native.calls import bound_call, bound_extend, handed_on
from chainer2torch.plan.native.evaluators import evaluator_of
from chainer2torch.plan.native.lending import wrapped_by
from chainer2torch.plan.native.objects import Concern, Objects, Use
from chainer2torch.plan.native.programs import EVALUATOR, TRAINER, UPDATER, Unclear, function_of, program_of

TRIGGERS = tuple(
    f"chainer.training.triggers.{name}Trigger"
    for name in ("BestValue", "EarlyStopping", "Interval", "ManualSchedule", "MaxValue", "MinValue", "Once", "Time")
)
_STORES = frozenset({"chainer.serializers.load_npz", "chainer.serializers.save_npz"})
# members of the manager with the name and meaning that they have in a Trainer
_SAME = frozenset({"observation", "out", "reporter", "get_extension", "elapsed_time"})
_COUNTS = frozenset({"iteration", "epoch", "epoch_detail"})  # of the updater, and of the manager
_OPTIMIZERS = frozenset({"get_optimizer", "get_all_optimizers"})  # of the updater; `optimizers` of the manager


# -- trainers ------------------------------------------------------------------------------------------------------


def _trainer_made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    try:
        program = program_of(objects, call, context)
    except Unclear as unclear:
        return str(unclear)
    return "" if program.stop is None or _is_trigger(objects, context, program.stop) else "when it stops is not known"


def _trainer_used(objects: Objects, use: Use) -> str | None:
    if use.member in _SAME or use.member == "run" and use.call is not None:
        return ""
    if use.member == "updater":
        return "" if replaces_updater(use) else "something of its updater is used"
    if use.member == "extend":
        return _extended(objects, use)
    if use.member:
        return None
    call = use.parent
    if isinstance(call, ast.Call) and use.context.reference(call.func) in _STORES:
        return "" if len(call.args) == 2 and call.args[1] is use.node and not call.keywords else "read in parts"
    return None


def updater_member(use: Use) -> str:
    """The name in ``trainer.updater.name``."""
    outer = use.context.source.parents.get(use.parent)
    return outer.attr if isinstance(outer, ast.Attribute) and isinstance(outer.ctx, ast.Load) else ""


def replaces_updater(use: Use) -> bool:
    """Whether the manager has what is asked of the updater: ``trainer.updater.iteration``, its optimizers."""
    member = updater_member(use)
    if member in _COUNTS:
        return True
    outer = use.context.source.parents.get(use.parent)
    call = use.context.source.parents.get(outer) if outer is not None else None
    if member not in _OPTIMIZERS or not isinstance(call, ast.Call) or call.func is not outer or call.keywords:
        return False
    return len(call.args) == (member == "get_optimizer")


def _extended(objects: Objects, use: Use) -> str:
    call, context = use.call, use.context
    if call is None or not isinstance(context.source.parents.get(call), ast.Expr):
        return "`extend` as a value"
    bound = bound_extend(call)
    if bound is None:
        return "arguments of `extend`"
    trigger = bound.get("trigger")
    if trigger is not None and not _is_trigger(objects, context, trigger):
        return "a trigger that is not known"
    if shifts.is_shift(context, bound["extension"]):
        found = shifts.shift_of(objects, use)
        return found if isinstance(found, str) else ""
    return _extension(objects, context, use.inst, bound["extension"])


def _made_beside(objects: Objects, context: Context, trainer: Inst, node: ast.expr) -> bool:
    """Whether a Trainer is made in the function in which a node stands."""
    maker = objects.analysis.makers.get(trainer.site)
    return maker in context.source.parents and function_of(context, maker) is function_of(context, node)


def _extension(objects: Objects, context: Context, trainer: Inst, node: ast.expr) -> str:
    found = extensions.form_of(context, node)
    if found is not None:
        assert isinstance(node, ast.Call)
        if found[1].template and not _made_beside(objects, context, trainer, node):
            return f"{found[0]} where the optimizer is not at hand"
        return extensions.unclear(context, node, *found)
    kinds = options(context.kind(node))
    if all(isinstance(k, Inst) and objects.concern(k) is EVALUATORS for k in kinds):
        return ""  # judged by itself
    return next(filter(None, (own_extensions.unclear(objects, k) for k in kinds)), "")


def _trainer_takes(objects: Objects, use: Use, call: ast.Call, taker: Inst) -> str:
    concern = objects.concern(use.inst)
    return "" if concern in (UPDATERS, EVALUATORS, TRIGGER_OBJECTS) else "given to the Trainer"


# -- triggers ------------------------------------------------------------------------------------------------------


def _is_trigger(objects: Objects, context: Context, node: ast.expr) -> bool:
    """Whether an expression is a pair, nothing, or a trigger that is judged by itself."""
    return all(
        isinstance(k, Tup) or k == NONE or isinstance(k, Inst) and objects.concern(k) is TRIGGER_OBJECTS
        for k in options(context.kind(node))
    )


def _trigger_made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    bound = bound_call(context, call, inst.cls) if isinstance(inst.cls, str) else None
    if bound is None or bound.extra_keywords:
        return "a trigger whose arguments are not known"
    older = bound.given.get("patients")
    unclear = older is not None and ("patience" in bound.given or NONE in options(context.kind(older)))
    return "a trigger that is given both names of an argument, or may be" if unclear else ""


def trigger_written(context: Context, call: ast.Call, cls: str) -> Replace:
    """What is written for the call that makes a trigger; ``patients`` is the older name of ``patience``."""
    form, span = _trigger_form(context, call, cls), context.source.span(call)
    if all(keyword.arg != "patients" for keyword in call.keywords):
        return Replace(span, form, {}, callee_only=True)
    parts, operands = handed_on(context, call.args, call.keywords)
    text = ", ".join(part.replace("patients=", "patience=") for part in parts)
    return Replace(span, f"{form}({text})", operands)


def _trigger_form(context: Context, call: ast.Call, cls: str) -> str:
    """What a trigger becomes. That of pytorch-pfn-extras rounds points within an epoch down to an iteration."""
    name = cls.removeprefix("chainer.training.triggers.")
    if name == "ManualScheduleTrigger":
        bound = bound_call(context, call, cls)
        points = bound.given.get("points") if bound is not None else None
        parts = points.elts if isinstance(points, ast.List) else [points]
        whole = all(part is not None and scalar_type(context.kind(part)) == "int" for part in parts)
        if not whole and not (points is not None and holds_ints(context.kind(points))):
            return f"native.{name}"
    return f"pytorch_pfn_extras.training.triggers.{name}"


# -- updaters and evaluators ---------------------------------------------------------------------------------------


def _updater_takes(objects: Objects, use: Use, call: ast.Call, taker: Inst) -> str:
    cls = own_updaters.own_class(taker)
    return "" if taker.cls == UPDATER or cls is not None else "given to an updater of another class"


def _updater_made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    cls = own_updaters.own_class(inst)
    if cls is None:
        return ""  # the Trainer looks at it
    given = own_updaters.given_to(objects, context, call)
    return own_updaters.why_not(objects, cls) or (given if isinstance(given, str) else "")


def _evaluator_made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    if isinstance(inst.cls, ClassInfo):
        if not own_evaluators.goes_around(objects, inst):
            return "an evaluator of another class"
        own_evaluators.meet_others(objects, inst)
    try:
        evaluator_of(objects, call, context)
    except Unclear as unclear:
        return str(unclear)
    return ""


def makes_device(objects: Objects, context: Context, inst: Inst, call: ast.Call) -> bool:
    """Whether an evaluator has to make its device itself: no training does in its function."""
    return objects.is_lent(inst) or not _is_extended_with(context, call)


def _is_extended_with(context: Context, call: ast.Call) -> bool:
    """Whether ``extend`` is called with an evaluator in its function: the training there makes the device."""
    kind = context.kind(call)
    beside = (c for c in nodes_of(function_of(context, call) or context.source.tree) if isinstance(c, ast.Call))
    extends = (c for c in beside if isinstance(c.func, ast.Attribute) and c.func.attr == "extend")
    given = (n for c in extends for a in (*c.args, *(k.value for k in c.keywords)) for n in nodes_of(a))
    return any(n is call or context.kind(n) == kind for n in given if isinstance(n, ast.expr))


def _evaluator_used(objects: Objects, use: Use) -> str | None:
    named = use.member in ("name", "default_name") and isinstance(use.parent, ast.Attribute)
    by_hand = isinstance(use.parent, ast.Call) and use.parent.func is use.node and not use.parent.args
    if own_evaluators.used(objects, use):
        return ""
    return "" if named or by_hand or wrapped_by(use, "chainermn.create_multi_node_evaluator") else None


def _evaluator_takes(objects: Objects, use: Use, call: ast.Call, taker: Inst) -> str:
    own = own_evaluators.goes_around(objects, taker)
    return "" if own or taker.cls == EVALUATOR else "given to an evaluator of another class"


def _to_a_trainer(objects: Objects, use: Use, call: ast.Call, taker: Inst) -> bool:
    """Whether a Trainer takes an evaluator: in each of its forms it is a manager of pytorch-pfn-extras."""
    return objects.concern(taker) is TRAINERS


def _nothing(objects: Objects, use: Use) -> str | None:
    return None


TRAINERS = Concern("trainer", (TRAINER,), _trainer_made, _trainer_used, _trainer_takes, called_back=True)
UPDATERS = Concern("updater", (UPDATER,), _updater_made, own_updaters.used, _updater_takes, called_back=True)
EVALUATORS = Concern(
    "evaluator", (EVALUATOR,), _evaluator_made, _evaluator_used, _evaluator_takes, lent=_to_a_trainer, alone=True
)
TRIGGER_OBJECTS = Concern("trigger", TRIGGERS, _trigger_made, _nothing)

__all__ = [
    "EVALUATORS",
    "TRAINERS",
    "TRIGGERS",
    "TRIGGER_OBJECTS",
    "UPDATERS",
    "makes_device",
    "replaces_updater",
    "updater_member",
]
