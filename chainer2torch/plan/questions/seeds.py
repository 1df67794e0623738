"""Gradients that a function gives a result before its ``backward()``: Chainer starts with them, PyTorch with ones."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_GRADIENTS = frozenset({"grad", "grad_var"})
_CLEARING = frozenset({"cleargrad", "cleargrads", "zero_grads", "zerograd", "zerograds"})
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


def start_of(context: Context, call: ast.Call) -> ast.Assign | None:
    """The one statement ``y.grad = g`` that a call ``y.backward()`` begins with, in plain sight: ``y.backward(g)``.

    Both stand in one block, nothing but gradients is cleared between them, nobody asks for ``y.grad``, and it is
    the only way back from y.
    """
    statement, owner = context.source.parents.get(call), getattr(call.func, "value", None)
    given = begun_by(context, call) if isinstance(owner, ast.Name) else []
    if len(given) != 1 or not isinstance(owner, ast.Name) or not isinstance(statement, ast.Expr):
        return None
    start, scope = given[0], context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    if not isinstance(start.targets[0], ast.Attribute) or start.targets[0].attr != "grad":
        return None
    block = _block_of(context, start)
    between = block[block.index(start) + 1 : block.index(statement)] if statement in block else None
    if between is None or call.args or call.keywords or not all(map(_clears, between)):
        return None
    asked = any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and node.attr in _GRADIENTS
        and ast.unparse(node.value) == owner.id
        for node in nodes_of(scope)
    )
    return None if asked or _goes_back_again(scope, call, owner.id) else start


def _goes_back_again(scope: ast.AST, call: ast.Call, name: str) -> bool:
    """Whether the same result goes back once more further down: its graph is kept until then."""
    made = [
        n.lineno for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    later = [
        n.lineno
        for n in nodes_of(scope)
        if isinstance(n, ast.Attribute) and n.attr == "backward" and ast.unparse(n.value) == name
        if n.lineno > call.lineno
    ]
    return any(not any(call.lineno < line < other for line in made) for other in later)


def started_by(context: Context, start: ast.Assign) -> ast.Call | None:
    """The call ``y.backward()`` that takes the gradient of a statement ``y.grad = g``: see ``start_of``."""
    for statement in _block_of(context, start):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
            if start_of(context, call) is start:
                return call
    return None


def _block_of(context: Context, statement: ast.stmt) -> list[ast.stmt]:
    """The statements among which one stands."""
    parent = context.source.parents.get(statement)
    fields = [value for _, value in ast.iter_fields(parent)] if parent is not None else []
    return next((value for value in fields if isinstance(value, list) and statement in value), [])


def _clears(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _CLEARING


__all__ = ["begun_by", "seeds", "start_of", "started_by"]
