"""How the graph of one ``backward()`` is used by the others of its function."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis import helpers_of_steps
from chainer2torch.analysis.graphs import GraphUse, uses_of_graphs
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.kept_states import keeps_state

_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def graph_use(context: Context, call: ast.Call) -> GraphUse:
    """How the graph of ``loss.backward()`` is used in the function around the call."""
    scope = context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    use = context.ask(_uses, scope).get(call, GraphUse())
    if use.shared:
        return use
    shared = _shared_by_callers(context, call, scope) or keeps_state(context, call)
    return dataclasses.replace(use, shared=shared)


def _shared_by_callers(context: Context, call: ast.Call, scope: ast.AST) -> bool:
    """Whether a parameter goes backward here, and at a call of the function a later one passes its graph again."""
    function = call.func
    if not isinstance(scope, _DEFINED) or not isinstance(function, ast.Attribute) or function.attr != "backward":
        return False
    return bool(helpers_of_steps.sent_back(scope, computed=True)) and is_shared_by_callers(context, scope)


def is_shared_by_callers(context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a later backward() passes the graph again of what a call hands to a function that sends it backward."""
    callers = helpers_of_steps.calls_of(context.source, function)
    around = ((one, context.source.enclosing(one, *_FUNCTIONS) or context.source.tree) for one in callers)
    return any(context.ask(_uses, outer).get(one, GraphUse()).shared for one, outer in around if outer is not function)


def _uses(context: Context, scope: ast.AST) -> dict[ast.AST, GraphUse]:
    return uses_of_graphs(context.kind, context.source, scope)
