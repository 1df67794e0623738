"""Gradients that a function gives a result before its ``backward()``: Chainer starts with them, PyTorch with ones."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_GRADIENTS = frozenset({"grad", "grad_var"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def seeds(context: Context, call: ast.Call) -> list[ast.Assign]:
    """The statements ``y.grad = g`` above a call ``y.backward()`` in the function around it."""
    if not isinstance(call.func, ast.Attribute):
        return []
    scope = context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    found = context.ask(_gradients_given, scope)
    owner = ast.unparse(call.func.value)
    return [statement for name, statement in found if name == owner and statement.lineno < call.lineno]


def _gradients_given(context: Context, scope: ast.AST) -> list[tuple[str, ast.Assign]]:
    """The results of a function that it gives a gradient, with the statements that do so; ``None`` is none."""
    return [
        (ast.unparse(target.value), statement)
        for statement in nodes_of(scope)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1
        for target in statement.targets
        if isinstance(target, ast.Attribute) and target.attr in _GRADIENTS
        if not (isinstance(statement.value, ast.Constant) and statement.value.value is None)
    ]


def begun_by(context: Context, call: ast.Call) -> list[ast.Assign]:
    """Those of the statements behind which this is the first ``backward()`` of the result."""
    scope = context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    assert isinstance(call.func, ast.Attribute)
    owner = ast.unparse(call.func.value)
    before = [
        node.lineno
        for node in nodes_of(scope)
        if isinstance(node, ast.Call)
        and node is not call
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
        and ast.unparse(node.func.value) == owner
        and node.lineno <= call.lineno
    ]
    return [statement for statement in seeds(context, call) if not any(line > statement.lineno for line in before)]


__all__ = ["begun_by", "seeds"]
