"""``loss.unchain_backward()`` in the native style: what is used again is detached, ``backward()`` ends at the cut."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Remove, ReplaceStatement
from chainer2torch.plan.questions.cut_graphs import CUTS, Cut, cuts, made
from chainer2torch.plan.questions.trained_models import trained_model

_ROW = "chainer.Variable.unchain_backward"
_BACKWARD = "chainer.Variable.backward"


def run(context: Context) -> Decisions:
    """Every cut of the file that is understood, and the calls of backward() behind it."""
    decisions = Decisions(context)
    if CUTS not in context.source.text:
        return decisions
    found = context.analysis.once(cuts)
    for call in context.source.of(ast.Call):
        if call in found.understood:
            _cut(context, decisions, call, found.understood[call])
        elif call in found.stops:
            _stop(context, decisions, call, found.stops[call])
    return decisions


def _cut(context: Context, decisions: Decisions, call: ast.Call, cut: Cut) -> None:
    statement = context.source.parents[call]
    assert isinstance(call.func, ast.Attribute)
    operands = {"loss": context.operand(call.func.value)}
    lines = []
    if cut.models:
        names = [f"model{number}" for number in range(len(cut.models))]
        operands.update((name, context.operand(model)) for name, model in zip(names, cut.models))
        lines.append(f"native.detach_states(loss, {', '.join(names)})")
    lines += [f"{made(name)} = {name}" for name in sorted(cut.renamed)]
    lines += [f"{name} = {name}.detach()" for name in cut.kept]
    start = context.source.start(statement)
    if not lines and _is_alone(context, statement):
        lines = ["pass"]
    edit = ReplaceStatement(start, "\n".join(lines), operands) if lines else Remove(start)
    decisions.edit(statement, edit)
    decisions.mark(call.func, context.rules.rows[_ROW], _ROW, "exact")


def _stop(context: Context, decisions: Decisions, call: ast.Call, names: tuple[str, ...]) -> None:
    assert isinstance(call.func, ast.Attribute)
    operands = {"loss": context.operand(call.func.value)}
    model = trained_model(context, call, names)
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
