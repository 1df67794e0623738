"""Extensions that change a rate while the training goes on: schedulers of PyTorch's, which pytorch-pfn-extras steps.

trainer.extend(                                  trainer.extend(
    extensions.ExponentialShift('lr', 0.1),          extensions.LRScheduler(
                                                         torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)),
    trigger=(30, 'epoch'))                           trigger=(30, 'epoch'))

Whatever the Trainer becomes, its manager has the optimizers by their names, and these are torch's. The rate begins
where the scheduler is made, in Chainer where the training starts; so nobody else may change it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace, ReplaceStatement
from chainer2torch.plan.native import places
from chainer2torch.plan.native.calls import bound_call, bound_extend
from chainer2torch.plan.native.late_setups import is_made_for
from chainer2torch.plan.native.linear_shifts import Linear, are_pairs, parts_of
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.optimizer_forms import FORMS
from chainer2torch.plan.native.optimizer_settings import setting_node
from chainer2torch.plan.native.programs import Unclear, name_of
from chainer2torch.plan.project_rules import has_short_communicators, has_short_optimizers
from chainer2torch.rules.signature import Bound

_EXTENSIONS = "chainer.training.extensions."
_TRAINER = "chainer.training.Trainer"
_OPTIMIZERS = "optimizers"
_RATE = "['lr']"
_SCHEDULED = "pytorch_pfn_extras.training.extensions.LRScheduler(\n    SCHEDULER)"
_EVERY_TIME = "pytorch_pfn_extras.training.extensions.LRScheduler(\n    SCHEDULER, trigger=(1, 'iteration'))"
_LR = "torch.optim.lr_scheduler."
_SHIFTS = frozenset({"ExponentialShift", "LinearShift"})
_EXPONENTIAL = f"{_LR}ExponentialLR(OPTIMIZER, RATE)"  # of the only one that an optimizer has
_FIRST = "first=OPTIMIZER.param_groups[0]['lr']"
_UNTIL = f"{_LR}LambdaLR(\n        OPTIMIZER, lambda t, {_FIRST}: BOUND(RATE ** t, TARGET / first))"
_ONE_OF_SEVERAL = f"{_LR}LambdaLR(OPTIMIZER, lambda t: RATE ** t)"  # each begins from the first rate, as in Chainer


@dataclasses.dataclass(frozen=True, eq=False)
class Shift:
    """One extension: its call, the optimizer as an expression of the program, and the first rate if it says one."""

    name: str
    call: ast.Call
    bound: Bound
    optimizer: Operand
    first: ast.expr | None  # None: the rate that the optimizer has
    several: bool  # whether the optimizer may have other shifts
    has_trigger: bool


def is_shift(context: Context, node: ast.expr) -> bool:
    """Whether an expression makes an extension that may become a scheduler."""
    return isinstance(node, ast.Call) and _name(context, node) in _SHIFTS


def shift_of(objects: Objects, use: Use) -> Shift | str:
    """The scheduler in the place of what ``trainer.extend`` gets; or why it is none."""
    context, call = use.context, use.call
    given = bound_extend(call) if call is not None else None
    extension = _made(context, given["extension"]) if given is not None else None
    if call is None or given is None or extension is None:
        return "arguments of `extend`"
    name = _name(context, extension)
    bound = bound_call(context, extension, _EXTENSIONS + name)
    if name not in _SHIFTS or bound is None or bound.extra_args or bound.extra_keywords:
        return f"arguments of {name or 'an extension'}"
    if "target" in bound.given and _bound_by(bound) is None:
        return f"`target` of {name}"
    if not has_short_optimizers(context.analysis, context.module) or _averages(objects, context):
        return "the optimizers are no ones of torch.optim"
    found = _optimizers(objects, use, bound)
    if not found or not all(map(_is_known, found)):
        return f"{name} where the optimizer is not known"
    given_name = bound.given["attr"]
    attr = given_name.value if isinstance(given_name, ast.Constant) else None
    if not isinstance(attr, str) or not _is_rate(found, attr, "init" not in bound.given):
        return "a shift of something that is not known to be the rate"
    changes = list(_changes(objects, use, attr))
    if not all(other is not None and _is_before(other, use) for other in changes):
        return f"`{attr}` is changed elsewhere, too"
    first = bound.given.get("init")
    if name == "LinearShift":
        if not are_pairs(bound):
            return f"arguments of {name}"
        first = parts_of(bound.given["value_range"])[0]
    others = _others(objects, use, extension, found, bound.given.get("optimizer"))
    if others and "target" in bound.given:
        return "one shift among several"
    if others and any(_has_first(objects.context_of(other), other) for other in (extension, *others)):
        return "one shift among several"
    if first is not None and not changes and _has_rate(objects, use, found, first, attr):
        first = None
    statement = context.source.parents[extension if _is_assigned(context, extension) else call]
    whole = isinstance(statement, (ast.Expr, ast.Assign)) and places.is_alone(context, statement)
    if first is not None and not whole:
        return "a first rate, in a line with other statements"
    return Shift(name, extension, bound, _operand(objects, use, bound), first, bool(others), "trigger" in given)


def emit(objects: Objects, use: Use, decisions: Decisions) -> bool:
    """Writes the scheduler of a use of a Trainer, if it has one; tells whether it has."""
    shift = shift_of(objects, use)
    if isinstance(shift, str):
        return False
    context, call, bound = use.context, use.call, shift.bound
    assert call is not None
    row = context.rules.rows[_EXTENSIONS + shift.name]
    linear = Linear(context, bound) if shift.name == "LinearShift" else None
    scheduler = _ONE_OF_SEVERAL if shift.several else _EXPONENTIAL
    scheduler = scheduler if linear is None else linear.scheduler()
    if "target" in bound.given:
        scheduler = _UNTIL.replace("BOUND", _bound_by(bound) or "")
    read_late = [bound.given[key] for key in ("rate", "time_range", "value_range") if key in bound.given]
    late = dict.fromkeys(name for node in read_late for name in places.bound_by_loops(context, node))
    if late:  # read now, not when the lambda is called
        scheduler = scheduler.replace("lambda t", ", ".join(["lambda t", *(f"{name}={name}" for name in late)]))
    template = (_SCHEDULED if shift.has_trigger else _EVERY_TIME).replace("SCHEDULER", scheduler)
    operands = {"OPTIMIZER": shift.optimizer}
    if linear is not None:
        operands |= linear.operands(context)
    else:
        operands |= {key.upper(): context.operand(bound.given[key]) for key in ("rate", "target") if key in bound.given}
    decisions.edit(shift.call, Replace(context.source.span(shift.call), template, operands))
    decisions.use(shift.call.func)
    decisions.mark(shift.call.func, row, row.name, "exact")
    if shift.first is not None:
        assigned = _is_assigned(context, shift.call)
        statement = context.source.parents[shift.call if assigned else call]
        lines = f"OPTIMIZER.param_groups[0]['lr'] = FIRST\n{'NAME = MADE' if assigned else 'MADE'}"
        if linear is not None and linear.has_variable:
            lines = f"RATES = VALUES\n{lines.replace('FIRST', 'RATES[0]')}"
        first = {"OPTIMIZER": shift.optimizer, "MADE": context.operand(shift.call if assigned else call)}
        first |= {"NAME": Operand(code=ast.unparse(statement.targets[0]))} if isinstance(statement, ast.Assign) else {}
        first |= {"FIRST": Operand(code=context.source.segment(shift.first))}
        if linear is not None:
            first |= {"RATES": Operand(code=linear.names["RATES"]), "VALUES": context.operand(linear.values)}
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), lines, first))
    return True


def _made(context: Context, node: ast.expr) -> ast.Call | None:
    """The call that makes what ``extend`` gets: itself, or of a variable that is bound once in front and used once."""
    if not isinstance(node, ast.Name):
        return node if isinstance(node, ast.Call) else None
    scope = context.scope(node, node.id)
    same = [*context.source.named.get(node.id, ())]
    stores = [n for n in same if n is not node and context.scope(n, n.id) is scope]
    statement = context.source.parents[stores[0]] if len(stores) == 1 else None
    if (
        not isinstance(statement, ast.Assign)
        or len(statement.targets) != 1
        or not isinstance(statement.value, ast.Call)
    ):
        return None
    extend = context.source.statement(node)
    beside = context.source.parents[statement] is context.source.parents[extend]
    return statement.value if beside and context.source.start(statement) < context.source.start(extend) else None


def _is_assigned(context: Context, call: ast.Call) -> bool:
    return isinstance(context.source.parents[call], ast.Assign)


def _bound_by(bound: Bound) -> str | None:
    """Python's function that holds an exponential shift at its target; None: that is not known."""
    rate, target = bound.given.get("rate"), bound.given["target"]
    if not isinstance(rate, ast.Constant) or not isinstance(rate.value, (int, float)) or rate.value <= 0:
        return None
    if not isinstance(target, ast.Constant) or not isinstance(target.value, (int, float)) or target.value <= 0:
        return None
    return "min" if rate.value > 1 else "max"


def _name(context: Context, call: ast.Call) -> str:
    symbol = context.reference(call.func) or ""
    name = symbol.removeprefix(_EXTENSIONS)
    return name if symbol == _EXTENSIONS + name else ""


# -- optimizers ----------------------------------------------------------------------------------------------------


def _averages(objects: Objects, context: Context) -> bool:
    """Whether an object of ChainerMN stands in front of an optimizer."""
    if has_short_communicators(context.analysis, context.module):
        return False
    return objects.any_file_seen_from(context, lambda module: "chainermn" in module.source.text)


def _optimizers(objects: Objects, use: Use, bound: Bound) -> list[Kind]:
    """What the optimizer may be whose rate is changed; [] where that is not seen."""
    if (own := bound.given.get("optimizer")) is not None:
        return _kinds(objects, use.context.kind(own))
    found: list[Kind] = []
    for context, node in _given(objects, use):
        kinds = _kinds(objects, context.kind(node))
        if any(isinstance(kind, Inst) and _is_optimizer(objects, kind) for kind in kinds):
            found += kinds
    return found


def _kinds(objects: Objects, kind: Kind) -> list[Kind]:
    """The options of a kind, with each of the optimizers among them."""
    return [*objects.of(kind), *(k for k in options(kind) if objects.concern(k) is None)]


def _given(objects: Objects, use: Use) -> Iterator[tuple[Context, ast.expr]]:
    """All that the updaters of a Trainer are made with, also within displays."""
    trainer = objects.analysis.makers.get(use.inst.site)
    if trainer is None:
        return
    context = objects.context_of(trainer)
    given = bound_call(context, trainer, _TRAINER)
    updater = given.given.get("updater") if given is not None else None
    for kind in options(context.kind(updater)) if updater is not None else ():
        maker = objects.analysis.makers.get(kind.site) if isinstance(kind, Inst) else None
        for argument in [*maker.args, *(k.value for k in maker.keywords)] if maker is not None else ():
            for node in nodes_of(argument):
                if isinstance(node, ast.expr):
                    yield objects.context_of(node), node


def _is_optimizer(objects: Objects, inst: Inst) -> bool:
    concern = objects.concern(inst)
    return concern is not None and concern.name == _OPTIMIZERS


def _is_known(kind: Kind) -> bool:
    return isinstance(kind, Inst) and kind.cls in FORMS and bool(kind.site)


def _is_rate(found: list[Kind], attr: str, fails: bool) -> bool:
    """Whether an attribute is torch's rate in all classes; ``fails``: Chainer raises for those that have none."""
    keys = {FORMS[str(kind.cls)].hyperparameters.get(attr) for kind in found if isinstance(kind, Inst)}
    return keys - ({None} if fails else set()) == {_RATE}


def _changes(objects: Objects, use: Use, attr: str) -> Iterator[Use | None]:
    """The places at which a program sets the rate of an optimizer itself; None: of what may be one."""
    for uses in objects.uses.values():
        for other in uses:
            if not _is_optimizer(objects, other.inst) or not objects.sees(use.context, other.context):
                continue
            node, call = setting_node(other), other.parent
            stored = isinstance(node, ast.Attribute) and node.attr == attr and not isinstance(node.ctx, ast.Load)
            if stored or isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "setattr":
                yield other
    for module in objects.analysis.project.modules.values():
        if objects.sees(use.context, objects.context(module)):
            for node in module.source.of(ast.Attribute):
                unknown = node.attr == attr and objects.analysis.kind(node.value) == UNKNOWN
                if unknown and not isinstance(node.ctx, ast.Load):
                    yield None


def _is_before(change: Use, use: Use) -> bool:
    """Whether a rate is set in front of a shift, in its function: the shift begins with that."""
    context = use.context
    if change.context is not context or context.source.enclosing(use.node, ast.For, ast.While) is not None:
        return False
    same = places.function_of(context, change.node) is places.function_of(context, use.node)
    return same and context.source.start(change.node) < context.source.start(context.source.statement(use.node))


def _others(objects: Objects, use: Use, extension: ast.Call, found: list[Kind], own: ast.expr | None) -> list[ast.Call]:
    """The other shifts that an optimizer may have in the same run, and this one where it stands in a loop."""
    context, sites = use.context, {kind.site for kind in found if isinstance(kind, Inst)}
    again = context.source.enclosing(use.node, ast.For, ast.While) is not None
    others = [extension] if again else []
    given: dict[ast.Call | None, Use] = {}
    for other in _extends(objects):
        node = (bound_extend(other.call) or {}).get("extension") if other.call is not None else None
        given[_made(other.context, node) if node is not None else None] = other
    for module in objects.analysis.project.modules.values():
        inner = objects.context(module)
        for call in module.source.of(ast.Call) if objects.sees(context, inner) else ():
            assert isinstance(call, ast.Call)
            if call is extension or not _name(inner, call).endswith("Shift"):
                continue
            its_use, bound = given.get(call), bound_call(inner, call, _EXTENSIONS + _name(inner, call))
            its = _optimizers(objects, its_use, bound) if its_use is not None and bound is not None else []
            apart = inner is context and places.are_branches(context, use.node, call)
            apart = apart or inner is context and bound is not None and _are_two(context, own, bound)
            if not apart and (not its or not sites.isdisjoint(kind.site for kind in its if isinstance(kind, Inst))):
                others.append(call)
    return others


def _are_two(context: Context, own: ast.expr | None, other: Bound) -> bool:
    """Whether two shifts get two variables, each of which a call of its own has made."""
    names = [node for node in (own, other.given.get("optimizer")) if isinstance(node, ast.Name)]
    return len({name.id for name in names}) == 2 and all(is_made_for(context, name) for name in names)


def _extends(objects: Objects) -> Iterator[Use]:
    for uses in objects.uses.values():
        yield from (use for use in uses if use.member == "extend" and use.call is not None)


def _has_first(context: Context, call: ast.Call) -> bool:
    """Whether a shift may begin with another rate than that of its optimizer."""
    bound = bound_call(context, call, _EXTENSIONS + "ExponentialShift")
    return _name(context, call) != "ExponentialShift" or bound is None or "init" in bound.given


def _operand(objects: Objects, use: Use, bound: Bound) -> Operand:
    """The optimizer: what the shift was given, a name that holds it, or the one that the manager has."""
    context = use.context
    if (own := bound.given.get("optimizer")) is not None:
        return Operand(code=context.source.segment(own))
    named = [node for inner, node in _given(objects, use) if _is_named(objects, inner, node)]
    maker = objects.analysis.makers.get(use.inst.site)
    texts = {ast.unparse(node) for node in named}
    if len(texts) == 1 and maker is not None and all(n in context.source.parents for n in (maker, *named)):
        same = {places.function_of(context, node) for node in (maker, use.node, *named)}
        try:
            if len(same) == 1:
                return Operand(code=name_of(context, named[0], maker, "the optimizer"))
        except Unclear:
            pass
    return Operand(code=f"{context.source.segment(use.node)}.optimizers['main']")


def _is_named(objects: Objects, context: Context, node: ast.expr) -> bool:
    return any(isinstance(kind, Inst) and _is_optimizer(objects, kind) for kind in options(context.kind(node)))


def _has_rate(objects: Objects, use: Use, found: list[Kind], first: ast.expr, attr: str) -> bool:
    """Whether every optimizer is made with a rate, and this one."""
    for kind in found:
        maker = objects.analysis.makers.get(kind.site) if isinstance(kind, Inst) else None
        if maker is None or not isinstance(kind, Inst):
            return False
        context = objects.context_of(maker)
        row = context.rules.rows[str(kind.cls)]
        bound = bound_call(context, maker, str(kind.cls))
        if bound is None or row.signature is None:
            return False
        rate = bound.given.get(attr)
        text = row.signature.defaults.get(attr, "") if rate is None else ast.unparse(rate)
        if isinstance(first, ast.Constant):
            try:
                same = ast.literal_eval(text) == first.value
            except ValueError:
                return False
        else:
            same = (
                text == ast.unparse(first)
                and places.is_simple(first)
                and context is use.context
                and places.function_of(context, maker) is places.function_of(context, use.node)
                and places.is_steady(
                    context,
                    first,
                    places.between(context, context.source.statement(maker), context.source.statement(use.node)),
                )
            )
        if not same:
            return False
    return True


__all__ = ["Shift", "emit", "is_shift", "shift_of"]
