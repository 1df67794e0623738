"""What is assigned to names, by the statements of their function."""

from __future__ import annotations

import ast
from typing import Any

from chainer2torch.analysis.kinds import Func
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context


def unpacked(context: Context, node: ast.expr, function: ast.AST | None) -> list[tuple[ast.expr, ast.AST | None]]:
    """What a name gets out of a tuple: ``values, order = x, x.argsort()[::-1]``, or of a function that returns one."""
    if not isinstance(node, ast.Name):
        return []
    function = function or context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    found: list[tuple[ast.expr, ast.AST | None]] = []
    for at, count, made in context.ask(_unpackings, function or context.source.tree).get(node.id, []):
        callee = context.analysis.kind(made.func) if isinstance(made, ast.Call) else None
        inner = callee.info.node if isinstance(callee, Func) else None
        values = [made] if inner is None else returned(inner)
        shown = [v for v in values if isinstance(v, (ast.Tuple, ast.List)) and len(v.elts) == count]
        found += [(value.elts[at], inner or function) for value in shown]
    return found


def _unpackings(context: Context, scope: ast.AST) -> dict[str, list[tuple[int, int, ast.expr]]]:
    """By name: which part of a tuple, of how many parts, a function gives it, or the module outside of functions."""
    found: dict[str, list[tuple[int, int, ast.expr]]] = {}
    for statement in _statements(context, scope):
        for target in statement.targets:
            items = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            for at, item in enumerate(items):
                if isinstance(item, ast.Name):
                    found.setdefault(item.id, []).append((at, len(items), statement.value))
    return found


def _statements(context: Context, scope: ast.AST) -> list[Any]:
    """The assignments of a function, or outside of functions."""
    if isinstance(scope, ast.Module):
        return [n for n in context.source.of(ast.Assign) if context.source.enclosing(n, ast.FunctionDef) is None]
    return within(scope).of(ast.Assign)


def assigned(context: Context, node: ast.expr, function: ast.AST | None) -> list[ast.expr]:
    """What is assigned to a name in its function (by default: where it stands), or outside of functions."""
    if not isinstance(node, ast.Name):
        return []
    function = function or context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    return context.ask(_assignments, function or context.source.tree).get(node.id, [])


def _assignments(context: Context, scope: ast.AST) -> dict[str, list[ast.expr]]:
    """What is assigned to each name in a function, or outside of functions."""
    found: dict[str, list[ast.expr]] = {}
    for node in _statements(context, scope):
        for name in {t.id for t in node.targets if isinstance(t, ast.Name)}:
            found.setdefault(name, []).append(node.value)
    return found


def reaching(context: Context, node: ast.Name) -> list[ast.expr]:
    """What may have been assigned to a name last: by the statement before that always runs, and by those behind it."""
    made = assigned(context, node, None)
    around = {id(place) for place in context.source.ancestors(node)}
    always = [
        value.lineno
        for value in made
        if value.lineno < node.lineno
        and any(id(other) in around for other in context.source.block(context.source.parents[value]))
    ]
    first = max(always, default=None)
    return made if first is None else [value for value in made if first <= value.lineno < node.lineno]


def returned(function: ast.AST) -> list[ast.expr]:
    """What the return statements of a function give."""
    return [n.value for n in within(function).of(ast.Return) if n.value is not None]
