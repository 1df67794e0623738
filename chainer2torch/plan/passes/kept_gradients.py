"""Gradients of values between the parameters and the loss: ``loss.backward(retain_grad=True)`` and then ``h.grad``.

Chainer keeps all of them if it is asked to. PyTorch keeps those of the tensors that were named before the backward():
they are looked for among what the function reads a ``grad`` of.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Const, options
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.passes.graphs import may_hold_graph
from chainer2torch.plan.sites import Plan

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
_ELSEWHERE = "only gradients that this function reads are kept; for others call retain_grad() on the tensor before"


def kept_gradients(plan: Plan) -> None:
    """Asks for the gradients that are read in the function of a ``backward(retain_grad=True)``."""
    if not plan.imports_chainer:
        return
    reads = [
        node
        for node in plan.source.of(ast.Attribute)
        if node.attr in ("grad", "grad_var") and isinstance(node.ctx, ast.Load) and _may_be_result(plan, node.value)
    ]
    for call in plan.source.of(ast.Call):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "backward"
            and _keeps_all(plan, call)
            and any(may_hold_graph(k) for k in options(plan.analysis.kind(call.func.value)))
        ):
            _ask(plan, call, reads)


def _ask(plan: Plan, call: ast.Call, reads: list[ast.Attribute]) -> None:
    """``y.backward()`` becomes ``compat.retain_grad(h)`` and ``y.backward()``."""
    scope = plan.source.enclosing(call, *_FUNCTIONS)
    known = _known_before(plan, scope, call)
    named = [
        node
        for node in reads
        if plan.source.enclosing(node, *_FUNCTIONS) is scope
        and _can_be_named(plan, node.value)
        and {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)} <= known
    ]
    names = {ast.unparse(node.value) for node in named}
    all_named = all(
        node in named or isinstance(node.value, ast.Name) and plan.source.enclosing(node, *_FUNCTIONS) is not scope
        for node in reads
    )
    statement = plan.source.parents.get(call)
    if names and isinstance(statement, ast.Expr) and statement not in plan.edits:
        plan.edits[statement] = ReplaceStatement(
            plan.source.start(statement),
            f"compat.retain_grad({', '.join(sorted(names))})\ncall",
            {"call": plan.operand(call)},
        )
    else:
        all_named = False
    site = None if all_named else plan.sites.pop(call.func, None)
    if site is not None:
        plan.mark(call.func, None, site.symbol, "review", _ELSEWHERE, "C2T300")


def _may_be_result(plan: Plan, value: ast.expr) -> bool:
    """Whether ``value`` may be the result of a computation: it is no parameter of a link."""
    if isinstance(value, ast.Attribute) and plan.analysis.is_link(plan.analysis.kind(value.value)):
        return False
    return any(may_hold_graph(k) for k in options(plan.analysis.kind(value)))


def _can_be_named(plan: Plan, value: ast.expr) -> bool:
    """Whether ``value`` is a name or a part of one that stands in the output as it is."""
    return all(isinstance(node, _NAMES) and node not in plan.edits for node in ast.walk(value))


def _known_before(plan: Plan, scope: ast.AST | None, call: ast.Call) -> set[str]:
    """The names that have a value where ``call`` stands."""
    start = plan.source.start(call)
    arguments = scope.args if isinstance(scope, _FUNCTIONS) else ast.arguments([], [], None, [], [], None, [])
    return {
        node.id
        for node in plan.source.of(ast.Name)
        if isinstance(node.ctx, ast.Store)
        and plan.source.start(node) < start
        and plan.source.enclosing(node, *_FUNCTIONS, *_COMPREHENSIONS) is scope
    } | {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _keeps_all(plan: Plan, call: ast.Call) -> bool:
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "retain_grad")]
    return bool(given) and plan.analysis.kind(given[0]) != Const(False)
