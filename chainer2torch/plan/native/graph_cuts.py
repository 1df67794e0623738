"""``loss.unchain_backward()`` in the native style: what is used again is detached, ``backward()`` ends at the cut."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.graphs import may_hold_graph
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Remove, ReplaceStatement
from chainer2torch.plan.questions.cut_graphs import CUTS, Cut, cuts, made
from chainer2torch.plan.questions.trained_models import trained_model

_ROW = "chainer.Variable.unchain_backward"
_BACKWARD = "chainer.Variable.backward"
_KEPT = (
    "the model keeps values under computed names: one that a layer computed behind the cut leads back into the graph "
    "that backward() has freed; detach what that layer gets"
)


def run(context: Context) -> Decisions:
    """Every cut of the file that is understood, and the calls of backward() behind it."""
    decisions = Decisions(context)
    if CUTS not in context.source.text:
        return decisions
    found = context.analysis.once(cuts)
    calls = context.source.of(ast.Call)
    trained = {c: trained_model(context, c, found.stops[c]) for c in calls if c in found.stops}
    named = {(_function(context, c), name) for c, model in trained.items() if model is None for name in found.stops[c]}
    for call in calls:
        if call in found.understood:
            asked = {name for function, name in named if function is _function(context, call)}
            _cut(context, decisions, call, found.understood[call], asked)
        elif call in found.stops:
            _stop(context, decisions, call, found.stops[call], trained[call])
    return decisions


def _function(context: Context, call: ast.Call) -> ast.AST | None:
    return context.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)


def _cut(context: Context, decisions: Decisions, call: ast.Call, cut: Cut, asked: set[str]) -> None:
    """One cut; ``asked`` are the names that a ``backward()`` of the function still has to know."""
    statement = context.source.parents[call]
    assert isinstance(call.func, ast.Attribute)
    operands = {"loss": context.operand(call.func.value)}
    lines = []
    if cut.models:
        names = [f"model{number}" for number in range(len(cut.models))]
        operands.update((name, context.operand(model)) for name, model in zip(names, cut.models))
        lines.append(f"native.detach_states(loss, {', '.join(names)})")
    lines += [f"{made(name)} = {name}" for name in sorted(cut.renamed) if made(name) in asked]
    lines += [f"{name} = {name}.detach()" for name in cut.kept]
    start = context.source.start(statement)
    if not lines and _is_alone(context, statement):
        lines = ["pass"]
    edit = ReplaceStatement(start, "\n".join(lines), operands) if lines else Remove(start)
    decisions.edit(statement, edit)
    keeps = context.analysis.once(_keeps_by_computed_names)
    if cut.models and keeps:
        decisions.mark(call.func, context.rules.rows[_ROW], _ROW, "review", _KEPT, "C2T300")
    else:
        decisions.mark(call.func, context.rules.rows[_ROW], _ROW, "exact")


def _keeps_by_computed_names(analysis: Analysis) -> bool:
    """Whether a model keeps what its layers compute under names that are computed, too: ``setattr(self, name, y)``."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "setattr"
        and len(call.args) == 3
        and not isinstance(call.args[1], ast.Constant)
        and _is_computed(analysis, call.args[2])
        for cls in analysis.classes.values()
        if analysis.is_link(Inst(cls))
        for name, method in cls.methods.items()
        if name != "__init__"
        for call in nodes_of(method.node)
    )


def _is_computed(analysis: Analysis, value: ast.expr) -> bool:
    return not isinstance(value, ast.Constant) and any(map(may_hold_graph, options(analysis.kind(value))))


def _stop(
    context: Context, decisions: Decisions, call: ast.Call, names: tuple[str, ...], model: ast.expr | None
) -> None:
    """A ``backward()`` behind a cut: for the ``model`` that it trains, or until it comes to the names."""
    assert isinstance(call.func, ast.Attribute)
    operands = {"loss": context.operand(call.func.value)}
    if model is not None:
        operands["model"] = context.operand(model)
        decisions.replace(call, "loss.backward(inputs=list(model.parameters()))", operands)
        decisions.mark(call.func, context.rules.rows[_BACKWARD], _BACKWARD, "exact")
        return
    operands.update((f"cut{number}", Operand(code=name)) for number, name in enumerate(names))
    places = ", ".join(f"cut{number}" for number in range(len(names)))
    decisions.replace(call, f"native.backward_until(loss, {places})", operands)
    decisions.mark(call.func, context.rules.rows[_BACKWARD], _BACKWARD, "exact")


def _is_alone(context: Context, statement: ast.AST) -> bool:
    """Whether nothing would be left of the block that a statement stands in."""
    parent = context.source.parents.get(statement)
    blocks = [getattr(parent, field, None) for field in ("body", "orelse", "finalbody")]
    return any(isinstance(block, list) and block == [statement] for block in blocks)
