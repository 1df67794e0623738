"""How the graph of one ``backward()`` is used by the others of its function."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis import helpers_of_steps
from chainer2torch.analysis.graphs import GraphUse, uses_of_graphs
from chainer2torch.plan.context import Context

_BACKWARD = frozenset({"backward"})
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def graph_use(context: Context, call: ast.Call) -> GraphUse:
    """How the graph of ``loss.backward()`` is used in the function around the call."""
    scope = context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    use = context.ask(_uses, scope).get(call, GraphUse())
    return dataclasses.replace(use, shared=True) if not use.shared and _shared_by_callers(context, call, scope) else use


def _shared_by_callers(context: Context, call: ast.Call, scope: ast.AST) -> bool:
    """Whether a parameter goes backward here, and at a call of the function a later one passes its graph again."""
    value = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(scope, _DEFINED) or not isinstance(value, ast.Name) or call.func.attr != "backward":  # type: ignore[attr-defined]
        return False
    if value.id not in helpers_of_steps.asked(scope, _BACKWARD):
        return False
    callers = helpers_of_steps.calls_of(context.source, scope)
    around = ((one, context.source.enclosing(one, *_FUNCTIONS) or context.source.tree) for one in callers)
    return any(context.ask(_uses, outer).get(one, GraphUse()).shared for one, outer in around if outer is not scope)


def _uses(context: Context, scope: ast.AST) -> dict[ast.AST, GraphUse]:
    return uses_of_graphs(context.kind, context.source, scope)
