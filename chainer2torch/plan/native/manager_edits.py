"""What is written for a Trainer whose step stays an updater's: a manager, the loop, and who asks for the updater."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.native import borrowed, finalizers
from chainer2torch.plan.native.batches import renamed
from chainer2torch.plan.native.engines import Iteration, Manager, engine_of, wants_errors
from chainer2torch.plan.native.managers import Group, Managed, Run
from chainer2torch.plan.native.objects import Use
from chainer2torch.plan.native.programs import TRAINER, UPDATER, function_of, is_interval, names_in, stops_by_iteration
from chainer2torch.plan.native.trainers import updater_member

_ASKS = "{.updater."
_MANAGER = "pytorch_pfn_extras.training.ExtensionsManager"
_STEP = Iteration("UPDATER.update()", "", updater=True)


def emit(context: Context, decisions: Decisions, group: Group) -> None:
    """The managers of this file whose loops call an updater, and these loops in the place of ``run()``."""
    finalizers.emit(context, decisions)
    borrowed.emit(context, decisions, group.borrowed)
    for call, managed in group.managed.items():
        if call in context.source.parents and call not in group.opened:
            _make(context, decisions, group, managed)
    opened = {statement for program in group.opened.values() for statement in program.runs}
    for statement, run in group.runs.items():
        if statement in context.source.parents and statement not in opened:
            _loop(context, decisions, group, run)


def _make(context: Context, decisions: Decisions, group: Group, managed: Managed) -> None:
    operands = {"MANAGER": Operand(code=managed.name), "UPDATER": Operand(code=managed.updater)}
    if by_trigger := stops_by_iteration(context, managed.stop):
        operands["STOP"] = context.operand(managed.stop)
    else:
        assert isinstance(managed.stop, ast.Tuple)
        operands["LENGTH"] = context.operand(managed.stop.elts[0])
    if managed.out is not None:
        operands["OUT"] = context.operand(managed.out)
    made = _manager(context, group, by_trigger, (managed,))
    engine = engine_of(context)
    template = engine.manager(made, _step(context, group, managed.call, operands, managed))
    if not engine.knows_updater(made):
        template += "MANAGER.updater = UPDATER\n" * group.asks
        template += "native.observe_parts(MANAGER, UPDATER)\n" * managed.has_parts
    template += "UPDATER.connect_trainer(MANAGER)\n" * group.connects
    template += "native.start_clock(MANAGER)\n" * group.starts_early
    statement = context.source.statement(managed.call)
    decisions.edit(statement, ReplaceStatement(context.source.start(statement), template, operands))
    decisions.use(managed.call.func)
    decisions.mark(managed.call.func, context.rules.rows[TRAINER], TRAINER, "exact")


def _manager(context: Context, group: Group, by_trigger: bool, managed: tuple[Managed, ...]) -> Manager:
    """The manager that is one of these Trainers; several have one loop."""
    several = next((one.draws for one in managed if one.draws), "")
    epoch = ""
    if group.handed:
        epoch = f"native.iterations_of(LOADER, {several})" if several else "len(LOADER)"
    return Manager(
        "{name: optimizer.target for name, optimizer in UPDATER.get_all_optimizers().items()}",
        "UPDATER.get_all_optimizers()",
        "" if group.own_clock else epoch,
        by_trigger,
        has_stop=True,
        has_out=any(one.out is not None for one in managed),
        more="" if group.handed else "state_objects={'updater': UPDATER}",
        early=group.starts_early,
        asks=group.asks,
        draws="" if group.handed or group.own_clock else several,
        own_clock=group.own_clock,
        counted=not group.handed or group.own_clock or group.asks or any(one.has_parts for one in managed),
        on_errors=wants_errors(context),
        whole=group.by_loaders and not several,
        long=True,
        apart=True,
    )


def _step(context: Context, group: Group, place: ast.AST, operands: dict[str, Operand], of: Managed | Run) -> Iteration:
    """One iteration; a loop that hands over its batches gives them a name that nothing else has there."""
    if not group.handed:
        return _STEP
    operands["LOADER"] = Operand(code=of.loader or f"{operands['UPDATER'].code}.get_iterator('main')")
    made = [of] if isinstance(of, Managed) else [group.managed[call] for call in of.made]
    if made[0].draws_itself:
        return Iteration("UPDATER.update_core()", "", updater=True)
    taken = names_in(context, function_of(context, place))
    (batch,) = renamed(("batch",), taken)
    operands["BATCH"] = Operand(code=batch)
    names = taken | {
        node.id for node in nodes_of(ast.parse(operands["UPDATER"].code or "")) if isinstance(node, ast.Name)
    }
    return Iteration("UPDATER.update_core(BATCH)", "LOADER", batch, taken=names)


def _loop(context: Context, decisions: Decisions, group: Group, run: Run) -> None:
    operands = {"MANAGER": Operand(code=run.name), "UPDATER": Operand(code=run.updater or f"{run.name}.updater")}
    known = tuple(group.managed[call] for call in run.made) or tuple(group.managed.values())
    step, stops = (
        _step(context, group, run.statement, operands, run),
        [group.managed[call].stop for call in run.made],
    )
    by_trigger = not stops or any(stops_by_iteration(context, stop) for stop in stops)
    often = bool(stops) and all(is_interval(context, s) for s in stops if stops_by_iteration(context, s))
    made = _manager(context, group, by_trigger, known)
    template = engine_of(context).run(made, step, asked_often=often or not group.handed)
    template = finalizers.in_any_case(context, template)
    decisions.edit(run.statement, ReplaceStatement(context.source.start(run.statement), template, operands))
    call = run.statement.value
    assert isinstance(call, ast.Call)
    decisions.mark(call.func, context.rules.rows[f"{TRAINER}.run"], f"{TRAINER}.run", "exact")


def emit_names(context: Context, decisions: Decisions) -> None:
    """``'snapshot_{.updater.iteration}'``, wherever the name of a file is made: the manager itself is asked."""
    for node in context.source.of(ast.Constant):
        if isinstance(node.value, str) and _ASKS in node.value and not _is_docstring(context, node):
            text = context.source.segment(node).replace(_ASKS, "{.")
            decisions.replace(node, "NAME", {"NAME": Operand(code=text)})


def emit_annotations(context: Context, decisions: Decisions) -> None:
    """``trainer: Trainer`` in a signature: the manager, which the helper with Chainer's interface is, too."""
    for holder in context.source.of(ast.arg):
        for node in nodes_of(holder.annotation) if holder.annotation is not None else ():
            if isinstance(node, (ast.Name, ast.Attribute)) and context.kind(node) == Ref(TRAINER):
                if context.reference(node) is not None:
                    decisions.replace(node, _MANAGER, {})
                    decisions.use(node)
                    decisions.mark(node, context.rules.rows[TRAINER], TRAINER, "exact")


def _is_docstring(context: Context, node: ast.Constant) -> bool:
    return isinstance(context.source.parents[node], (ast.Expr, ast.JoinedStr))


def emit_question(context: Context, decisions: Decisions, use: Use) -> None:
    """``trainer.updater.iteration`` and ``trainer.updater.get_optimizer('main')``: the manager has both."""
    outer = context.source.parents[use.parent]
    assert isinstance(outer, ast.Attribute) and isinstance(use.parent, ast.Attribute)
    member = updater_member(use)
    operands = {"MANAGER": context.operand(use.node)}
    call = context.source.parents[outer]
    if member in ("get_optimizer", "get_all_optimizers"):
        assert isinstance(call, ast.Call)
        template = "MANAGER.optimizers"
        if call.args:
            template, operands["NAME"] = "MANAGER.optimizers[NAME]", context.operand(call.args[0])
        decisions.replace(call, template, operands)
    else:
        decisions.replace(outer, f"MANAGER.{member}", operands)
    for node, symbol in ((use.parent, f"{TRAINER}.updater"), (outer, f"{UPDATER}.{member}")):
        decisions.mark(node, context.rules.rows.get(symbol), symbol, "exact")


__all__ = ["emit", "emit_annotations", "emit_names", "emit_question"]
