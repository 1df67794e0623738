"""How the graph of one ``backward()`` is used by the others of its function."""

from __future__ import annotations

import ast

from chainer2torch.analysis.graphs import GraphUse, uses_of_graphs
from chainer2torch.plan.context import Context

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def graph_use(context: Context, call: ast.Call) -> GraphUse:
    """How the graph of ``loss.backward()`` is used in the function around the call."""
    scope = context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    return context.ask(_uses, scope).get(call, GraphUse())


def _uses(context: Context, scope: ast.AST) -> dict[ast.AST, GraphUse]:
    return uses_of_graphs(context.kind, context.source, scope)
