"""Trainer programs in the native style: an ExtensionsManager, its extensions, and the loop in the place of ``run()``.

Everything that belongs to one program is decided by ``plan/native/objects.py``; here it is written down.
"""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.native import (
    asked_updaters,
    evaluators,
    extension_names,
    extensions,
    finalizers,
    looping_evaluators,
    handed as handed_updaters,
    manager_edits,
    managers,
    own_bases,
    own_evaluators,
    own_extensions,
    own_updaters,
    places,
    shifts,
)
from chainer2torch.plan.native.batches import call_of, renamed, target_of
from chainer2torch.plan.native.calls import bound_call, bound_extend, clear
from chainer2torch.plan.native.concerns import is_native, native_objects
from chainer2torch.plan.native.engines import Iteration, Manager, engine_of, wants_errors
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.placed_models import places_itself
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
    stays_on_host,
    stops_by_iteration,
)
from chainer2torch.plan.questions.device_specs import device_of_number
from chainer2torch.plan.native.reporting_parts import reports_in_parts
from chainer2torch.plan.native.trainers import (
    EVALUATORS,
    TRAINERS,
    TRIGGER_OBJECTS,
    makes_device,
    replaces_updater,
    trigger_written,
    updater_member,
)

_WIDTH = 105  # of a line, without its brackets


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
    handed = managers.hand_over(context)
    own_updaters.emit_base(objects, context, decisions, handed)
    if handed:
        handed_updaters.emit(context, decisions, _gone(objects, context))
    own_evaluators.emit_base(objects, context, decisions)
    looping_evaluators.emit(objects, context, decisions)
    own_extensions.emit(objects, context, decisions)
    extension_names.emit(objects, context, decisions)
    own_bases.emit(context, decisions)
    manager_edits.emit_names(context, decisions)
    manager_edits.emit_annotations(context, decisions)
    asked_updaters.emit(context, decisions)
    for use in objects.uses_in(context.module):
        if objects.reason_at(use) == "":
            _used(objects, context, decisions, use)
        else:
            _left_out(objects, context, decisions, use)
            if objects.concern(use.inst) is TRAINERS and use.member == "updater" and replaces_updater(use):
                manager_edits.emit_question(context, decisions, use)
    group = managers.group_of(context)
    if group is None:
        finalizers.emit(context, decisions, finalizers.EVALUATOR)
    else:
        manager_edits.emit(context, decisions, group)
        _opened(context, decisions, group)
    return decisions


def _gone(objects: Objects, context: Context) -> list[ast.Call]:
    """The calls of this file that make updaters of which nothing stays: the loop says their step."""
    group = managers.group_of(context)
    opened = [program.updater for program in group.opened.values()] if group is not None else []
    makers = objects.analysis.makers
    made = ((call, inst) for call in context.source.of(ast.Call) for inst in objects.of(context.kind(call)))
    return [*opened, *(call for call, inst in made if makers.get(inst.site) is call and not objects.reason(inst))]


def _opened(context: Context, decisions: Decisions, group: managers.Group) -> None:
    """The Trainers whose step the loop says itself; several may have one updater, and one ``run()``."""
    mine = [(program, group.managed[call]) for call, program in group.opened.items() if call in context.source.parents]
    for program, managed in mine:
        _make(context, decisions, program, managed.has_parts)
    for updater in {program.updater: program for program, _ in mine}.values():
        if updater.step.parts and not _is_inside(context, updater):
            _without_updater(context, decisions, updater)
    by_run: dict[ast.Expr, list[Program]] = {}
    for program, _ in mine:
        for run in program.runs:
            by_run.setdefault(run, []).append(program)
    for run, programs in by_run.items():
        _run(context, decisions, run, programs)


def _left_out(objects: Objects, context: Context, decisions: Decisions, use: Use) -> None:
    """What a Trainer that keeps its form is extended with for nothing: a graph that PyTorch does not draw."""
    if objects.concern(use.inst) is TRAINERS and use.member == "extend" and use.call is not None:
        shifts.emit(objects, use, decisions)
        extension = (bound_extend(use.call) or {}).get("extension")
        found = extensions.form_of(context, extension) if isinstance(extension, ast.Call) else None
        if found is not None and found[1].gone and isinstance(context.source.parents[use.call], ast.Expr):
            assert isinstance(extension, ast.Call)
            extensions.emit(context, decisions, extension, "", "")


def _made(objects: Objects, context: Context, decisions: Decisions, call: ast.Call, inst: Inst) -> None:
    concern = objects.concern(inst)
    if concern is TRAINERS:
        _manager(context, decisions, program_of(objects, call, context))
    elif concern is EVALUATORS:
        in_parts = _reports_in_parts(context, call, objects.is_lent(inst))
        makes = makes_device(objects, context, inst, call) and not _finds_device(objects, context, call)
        evaluators.emit(objects, context, decisions, call, makes, in_parts)
    elif concern is TRIGGER_OBJECTS:
        assert isinstance(inst.cls, str)
        decisions.edit(call, trigger_written(context, call, inst.cls))
        _tell(context, decisions, call.func, inst.cls)


def _finds_device(objects: Objects, context: Context, evaluator: ast.Call) -> bool:
    """Whether the steps in the function of an evaluator have made its device, in front of it and in any case."""
    group = managers.group_of(context)
    scope = function_of(context, evaluator)
    steps = [p for p in group.opened.values() if p.call in context.source.parents] if group is not None else []
    near = [program for program in steps if function_of(context, program.call) is scope]
    device = evaluators.evaluator_of(objects, evaluator, context).device
    if not near or device.made is None:
        return False
    made = {(p.step.device.name, ast.unparse(p.step.device.made)) for p in near if p.step.device.made is not None}
    alone = len({program.updater for program in near}) == 1
    behind = places.is_reached_through(context, evaluator, context.source.statement(near[0].updater))
    return alone and behind and made == {(device.name, ast.unparse(device.made))}


def _tell(context: Context, decisions: Decisions, node: ast.expr, symbol: str) -> None:
    decisions.use(node)
    decisions.mark(node, context.rules.rows[symbol], symbol, "exact")


def _reports_in_parts(context: Context, evaluator: ast.Call, lent: bool) -> bool:
    """Whether parts of what an evaluator looks at may report; ``lent``: the training is not native."""
    group = managers.group_of(context)
    if lent and (group is None or any(managed.has_parts for managed in group.managed.values())):
        return True
    bound = bound_call(context, evaluator, EVALUATOR)
    assert bound is not None
    kinds = options(context.kind(bound.given["target"]))
    known = all(isinstance(kind, Inst) for kind in kinds) or not lent
    return not known or any(reports_in_parts(context.analysis, kind, context.module) for kind in kinds)


def _made_of(context: Context, *programs: Program) -> Manager:
    """What the manager of a program is made of; of several that one loop may run, what that has to do with all."""
    stops = [program.stop for program in programs]
    return Manager(
        "MODEL",
        "OPTIMIZER",
        "len(LOADER)",
        any(stop is None or stops_by_iteration(context, stop) for stop in stops),
        stops[0] is not None,
        programs[0].out is not None,
        more="state_objects={'updater': CALL}" * (not programs[0].step.parts and not managers.hand_over(context)),
        early=programs[0].starts_early,
        on_errors=wants_errors(context),
    )


def _manager(context: Context, decisions: Decisions, program: Program) -> None:
    """The manager in the place of the Trainer, the start of the training in that of ``run()``; the updater goes."""
    _make(context, decisions, program, program.step.in_parts)
    if program.step.parts and not _is_inside(context, program):
        _without_updater(context, decisions, program)
    for run in program.runs:
        _run(context, decisions, run, [program])


def _is_inside(context: Context, program: Program) -> bool:
    """``Trainer(StandardUpdater(...))``: one statement for both."""
    return context.source.statement(program.updater) is context.source.statement(program.call)


def _make(context: Context, decisions: Decisions, program: Program, in_parts: bool = False) -> None:
    """The manager in the place of the Trainer. ``in_parts``: parts of the model may report by themselves."""
    made = _made_of(context, program)
    long = _is_long(context, program, made.by_trigger)
    made = dataclasses.replace(made, long=long, several=long and program.step.model.startswith("{"))
    iteration, operands = _iteration(context, program)
    if program.stop is not None and made.by_trigger:
        operands["STOP"] = context.operand(program.stop)
    elif program.stop is not None:
        assert isinstance(program.stop, ast.Tuple)
        operands["LENGTH"] = context.operand(program.stop.elts[0])
    if program.out is not None:
        operands["OUT"] = context.operand(program.out)
    statement = context.source.statement(program.call)
    template = engine_of(context).manager(made, iteration)
    if not program.step.parts and managers.hand_over(context):
        template += "CALL.connect_trainer(MANAGER)\n" * (
            context.module in context.analysis.once(handed_updaters.counting)
        )
    template += "MANAGER.reporter.add_observers('', native.observers(MODEL).items())\n" * in_parts
    template += "native.start_clock(MANAGER)\n" * program.starts_early
    inside = bool(program.step.parts) and _is_inside(context, program)
    if inside:
        lines, more = _device_lines(context, program)
        template, operands = f"{lines}{template}", operands | more
    decisions.edit(statement, ReplaceStatement(context.source.start(statement), template, operands))
    _tell(context, decisions, program.call.func, TRAINER)
    if inside:
        _tell(context, decisions, program.updater.func, UPDATER)
        _remove(context, decisions, program)


def _remove(context: Context, decisions: Decisions, program: Program) -> None:
    """An updater goes, but not what makes its loss function."""
    kept, bound = program.step.made_loss, bound_call(context, program.updater, UPDATER)
    if kept is None or bound is None:
        decisions.remove(program.updater)
    else:
        decisions.remove(*(value for value in bound.given.values() if value is not kept))


def _is_long(context: Context, program: Program, by_trigger: bool) -> bool:
    """Whether the arguments of the manager do not fit into one line."""
    step, stop, out = program.step, program.stop, program.out
    length = stop.elts[0] if isinstance(stop, ast.Tuple) and not by_trigger else ast.Constant(None)
    parts = [step.model, step.optimizer, ast.unparse(length), f"iters_per_epoch=len({step.loader})"]
    parts += [f"stop_trigger={ast.unparse(stop)}"] if stop is not None and by_trigger else []
    parts += [f"out_dir={ast.unparse(out)}"] if out is not None else []
    return context.source.statement(program.call).col_offset + len(", ".join(parts)) > _WIDTH


def _run(context: Context, decisions: Decisions, run: ast.Expr, programs: list[Program]) -> None:
    """The start of the training in the place of ``run()`` of a Trainer, which one of several calls has made."""
    made = _made_of(context, *programs)
    often = all(is_interval(context, p.stop) for p in programs if p.stop is None or stops_by_iteration(context, p.stop))
    iteration, operands = _iteration(context, programs[0])
    template = engine_of(context).run(made, iteration, often)
    template = finalizers.in_any_case(context, template)
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
    lines, operands = _device_lines(context, program)
    if lines:
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), lines, operands))
        _remove(context, decisions, program)
    else:
        clear(context, decisions, statement)


def _device_lines(context: Context, program: Program) -> tuple[str, dict[str, Operand]]:
    """The variable with the device, where there is none yet, and the model moved there, if only the updater did that.

    Source: chainer.training.updaters.StandardUpdater.
    """
    device, lines, operands = program.step.device, "", dict[str, Operand]()
    if program.step.made_loss is not None:
        lines = f"{program.step.loss} = MADE\n"
        operands["MADE"] = context.operand(program.step.made_loss)
    if device.made is not None:
        lines += f"NAME = {device_of_number(context, device.made, 'SPEC')}\n"
        operands |= {"NAME": Operand(code=device.name), **_spec(program)}
    inside = bound_call(context, program.updater, UPDATER)
    spec = inside.given.get("device") if inside is not None else None
    if spec is None or stays_on_host(context, spec) or places_itself(context, program):
        return lines, operands
    target = device.name or device_of_number(context, spec, "PLACE")
    return f"{lines}MODEL.to({target})\n", {
        **operands,
        "MODEL": Operand(code=program.step.model),
        "PLACE": Operand(code=ast.unparse(spec)),
    }


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
    if not step.parts and managers.hand_over(context):
        if _draws_itself(context, program):
            return Iteration("CALL.update_core()", "LOADER", updater=True), codes
        (batch,) = renamed(("batch",), taken)
        codes |= {"BATCH": Operand(code=batch)}
        return Iteration("CALL.update_core(BATCH)", "LOADER", batch, taken=taken | _roots(step)), codes
    if not step.parts:
        return Iteration("CALL.update()", "LOADER", updater=True), codes
    lines = step.lines
    if step.packed or step.named:
        lines = lines.replace("CALL", _called_with(step))
        codes |= {"CALLEE": Operand(code=step.loss), "DEVICE": Operand(code=step.device.name)}
    if step.conversion is not None:
        lines = lines.replace("CALL", step.conversion.call("BATCH"))
        codes |= step.conversion.operands(step.loss)
    return Iteration(lines, "LOADER", target_of(step.parts), taken=taken | _roots(step)), codes


def _draws_itself(context: Context, program: Program) -> bool:
    """Whether the updater of a program takes its batches itself."""
    drawing = context.analysis.once(handed_updaters.draw_themselves)
    return any(isinstance(k, Inst) and k.cls in drawing for k in options(context.kind(program.updater)))


def _called_with(step: Step) -> str:
    """The call with a batch of which nobody knows how many parts it has."""
    moved = bool(step.device.name)
    if step.named:
        return "CALLEE(**{key: x.to(DEVICE) for key, x in BATCH.items()})" if moved else "CALLEE(**BATCH)"
    if step.several:
        return "CALLEE(*[x.to(DEVICE) for x in BATCH])" if moved else "CALLEE(*BATCH)"
    return f"native.call_with_parts(CALLEE, {'native.to_device(DEVICE, BATCH)' if moved else 'BATCH'})"


def _roots(step: Step) -> frozenset[str]:
    """The names that one iteration reads."""
    codes = (step.loss, step.optimizer, step.device.name or "None")
    return frozenset(n.id for code in codes for n in nodes_of(ast.parse(code)) if isinstance(n, ast.Name))


def _called(step: Step) -> str:
    return call_of(step.loss, step.parts, step.device.name) if step.parts else step.loss


def _used(objects: Objects, context: Context, decisions: Decisions, use: Use) -> None:
    concern = objects.concern(use.inst)
    if concern is not TRAINERS:
        return
    if use.member == "extend" and use.call is not None:
        extension = (bound_extend(use.call) or {}).get("extension")
        if shifts.emit(objects, use, decisions):
            return
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
