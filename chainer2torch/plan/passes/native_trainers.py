"""Trainer programs in the native style: an ExtensionsManager, its extensions, and the loop in the place of ``run()``.

Everything that belongs to one program is decided by ``plan/native/objects.py``; here it is written down.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace, ReplaceStatement
from chainer2torch.plan.native import (
    evaluators,
    extensions,
    manager_edits,
    managers,
    own_bases,
    own_extensions,
    own_updaters,
)
from chainer2torch.plan.native.batches import call_of, target_of
from chainer2torch.plan.native.calls import bound_call, bound_extend, clear
from chainer2torch.plan.native.concerns import is_native, native_objects
from chainer2torch.plan.native.engines import Iteration, Manager, engine_of, wants_errors
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.programs import (
    EVALUATOR,
    TRAINER,
    UPDATER,
    Program,
    Step,
    is_interval,
    names_in,
    function_of,
    program_of,
    stops_by_iteration,
)
from chainer2torch.plan.native.reporting_parts import reports_in_parts
from chainer2torch.plan.native.trainers import (
    EVALUATORS,
    TRAINERS,
    TRIGGER_OBJECTS,
    makes_device,
    replaces_updater,
    trigger_form,
    updater_member,
)

_DEVICE = "native.get_device(SPEC)\n"
_STEP = """\
OPTIMIZER.zero_grad()
LOSS = CALL
LOSS.backward()
OPTIMIZER.step()
"""


def run(context: Context) -> Decisions:
    """Rewrites the parts of native Trainer programs that stand in this file."""
    decisions = Decisions(context)
    if not is_native(context):
        return decisions
    objects = native_objects(context)
    for call in context.source.of(ast.Call):
        for inst in objects.of(context.kind(call)):
            if objects.analysis.makers.get(inst.site) is call and objects.reason(inst) == "":
                _made(objects, context, decisions, call, inst)
    own_updaters.emit_base(objects, context, decisions)
    own_extensions.emit(objects, context, decisions)
    own_bases.emit(context, decisions)
    manager_edits.emit_names(context, decisions)
    for use in objects.uses_in(context.module):
        if objects.reason_at(use) == "":
            _used(objects, context, decisions, use)
        else:
            _left_out(objects, context, decisions, use)
            if objects.concern(use.inst) is TRAINERS and use.member == "updater" and replaces_updater(use):
                manager_edits.emit_question(context, decisions, use)
    group = managers.group_of(context)
    if group is not None:
        manager_edits.emit(context, decisions, group)
    return decisions


def _left_out(objects: Objects, context: Context, decisions: Decisions, use: Use) -> None:
    """What a Trainer that keeps its form is extended with for nothing: a graph that PyTorch does not draw."""
    if objects.concern(use.inst) is TRAINERS and use.member == "extend" and use.call is not None:
        extension = (bound_extend(use.call) or {}).get("extension")
        found = extensions.form_of(context, extension) if isinstance(extension, ast.Call) else None
        if found is not None and found[1].gone and isinstance(context.source.parents[use.call], ast.Expr):
            assert isinstance(extension, ast.Call)
            extensions.emit(context, decisions, extension, "", "")


def _made(objects: Objects, context: Context, decisions: Decisions, call: ast.Call, inst: Inst) -> None:
    concern = objects.concern(inst)
    if concern is TRAINERS:
        _manager(objects, context, decisions, program_of(objects, call, context))
    elif concern is EVALUATORS:
        in_parts = objects.is_lent(inst) and _reports_in_parts(context, call)
        evaluators.emit(objects, context, decisions, call, makes_device(objects, context, inst, call), in_parts)
    elif concern is TRIGGER_OBJECTS:
        assert isinstance(inst.cls, str)
        form = trigger_form(context, call, inst.cls)
        decisions.edit(call, Replace(context.source.span(call), form, {}, callee_only=True))
        _tell(context, decisions, call.func, inst.cls)


def _tell(context: Context, decisions: Decisions, node: ast.expr, symbol: str) -> None:
    decisions.use(node)
    decisions.mark(node, context.rules.rows[symbol], symbol, "exact")


def _reports_in_parts(context: Context, evaluator: ast.Call) -> bool:
    """Whether parts of what an evaluator looks at may report: only a program that is native is known to have none."""
    group = managers.group_of(context)
    if group is None or any(managed.has_parts for managed in group.managed.values()):
        return True
    bound = bound_call(context, evaluator, EVALUATOR)
    assert bound is not None
    kinds = options(context.kind(bound.given["target"]))
    known = all(isinstance(kind, Inst) for kind in kinds)
    return not known or any(reports_in_parts(context.analysis, kind, context.module) for kind in kinds)


def _manager(objects: Objects, context: Context, decisions: Decisions, program: Program) -> None:
    """The manager in the place of the Trainer, the start of the training in that of ``run()``; the updater goes."""
    by_trigger = program.stop is None or stops_by_iteration(context, program.stop)
    made = Manager(
        "MODEL",
        "OPTIMIZER",
        "len(LOADER)",
        by_trigger,
        program.stop is not None,
        program.out is not None,
        early=program.starts_early,
        on_errors=wants_errors(context),
    )
    iteration, operands = _iteration(context, program)
    if program.stop is not None and by_trigger:
        operands["STOP"] = context.operand(program.stop)
    elif program.stop is not None:
        assert isinstance(program.stop, ast.Tuple)
        operands["LENGTH"] = context.operand(program.stop.elts[0])
    if program.out is not None:
        operands["OUT"] = context.operand(program.out)
    statement = context.source.statement(program.call)
    template = engine_of(context).manager(made, iteration) + "native.start_clock(MANAGER)\n" * program.starts_early
    inside = bool(program.step.parts) and context.source.statement(program.updater) is statement
    if inside and program.step.device.made is not None:  # Trainer(StandardUpdater(...)): one statement for both
        operands |= {"NAME": Operand(code=program.step.device.name), **_spec(program)}
        template = f"NAME = {_DEVICE}{template}"
    decisions.edit(statement, ReplaceStatement(context.source.start(statement), template, operands))
    _tell(context, decisions, program.call.func, TRAINER)
    if inside:
        _tell(context, decisions, program.updater.func, UPDATER)
        decisions.remove(program.updater)
    elif program.step.parts:
        _without_updater(context, decisions, program)
    asked_often = not by_trigger or is_interval(context, program.stop)
    template = engine_of(context).run(made, iteration, asked_often)
    for run in program.runs:
        decisions.edit(run, ReplaceStatement(context.source.start(run), template, operands))
        call = run.value
        assert isinstance(call, ast.Call)
        decisions.mark(call.func, context.rules.rows[f"{TRAINER}.run"], f"{TRAINER}.run", "exact")


def _spec(program: Program) -> dict[str, Operand]:
    assert program.step.device.made is not None
    return {"SPEC": Operand(code=ast.unparse(program.step.device.made))}


def _without_updater(context: Context, decisions: Decisions, program: Program) -> None:
    """Nothing takes the place of the updater but the device, where that has no variable yet."""
    statement = context.source.statement(program.updater)
    _tell(context, decisions, program.updater.func, UPDATER)
    if program.step.device.made is not None:
        edit = ReplaceStatement(
            context.source.start(statement),
            f"{program.step.device.name} = {_DEVICE}",
            _spec(program),
        )
        decisions.edit(statement, edit)
        decisions.remove(program.updater)
    else:
        clear(context, decisions, statement)


def _iteration(context: Context, program: Program) -> tuple[Iteration, dict[str, Operand]]:
    """What one iteration is, and the names in it."""
    step, taken = program.step, names_in(context, function_of(context, program.call))
    operands = {
        "MANAGER": program.name,
        "MODEL": step.model,
        "LOADER": step.loader,
        "OPTIMIZER": step.optimizer,
        "BATCH": target_of(step.parts),
        "LOSS": "batch_loss" if "loss" in taken else "loss",
        "CALL": _called(step),
    }
    codes = {name: Operand(code=code) for name, code in operands.items() if code}
    if not step.parts:
        return Iteration("CALL.update()", "LOADER", updater=True), codes
    lines = _STEP
    if step.packed or step.named:
        batch = "native.to_device(DEVICE, BATCH)" if step.device.name else "BATCH"
        called = f"CALLEE(**{batch})" if step.named else f"native.call_with_parts(CALLEE, {batch})"
        lines = lines.replace("CALL", called)
        codes |= {"CALLEE": Operand(code=step.loss), "DEVICE": Operand(code=step.device.name)}
    if step.conversion is not None:
        lines = lines.replace("CALL", step.conversion.call("BATCH"))
        codes |= step.conversion.operands(step.loss)
    return Iteration(lines, "LOADER", target_of(step.parts), taken=taken | _roots(step)), codes


def _roots(step: Step) -> frozenset[str]:
    """The names that one iteration reads."""
    codes = (step.loss, step.optimizer, step.device.name or "None")
    return frozenset(n.id for code in codes for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Name))


def _called(step: Step) -> str:
    return call_of(step.loss, step.parts, step.device.name) if step.parts else step.loss


def _used(objects: Objects, context: Context, decisions: Decisions, use: Use) -> None:
    concern = objects.concern(use.inst)
    if concern is not TRAINERS:
        return
    if use.member == "extend" and use.call is not None:
        extension = (bound_extend(use.call) or {}).get("extension")
        if isinstance(extension, ast.Call) and extensions.form_of(context, extension) is not None:
            extensions.emit(context, decisions, extension, *_optimizer(objects, use))
    elif use.member == "updater" and updater_member(use):
        manager_edits.emit_question(context, decisions, use)


def _optimizer(objects: Objects, use: Use) -> tuple[str, str]:
    """The name of the optimizer that a Trainer trains with, and its class; "" where the Trainer is not known."""
    maker = objects.analysis.makers.get(use.inst.site)
    if maker is None:
        return "", ""
    program = program_of(objects, maker, objects.context_of(maker))
    return program.step.optimizer, program.step.optimizer_class


__all__ = ["run"]
