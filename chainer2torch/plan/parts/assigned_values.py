"""What is assigned to names, by the statements of their function."""

from __future__ import annotations

import ast
import sys
from typing import Any

from chainer2torch.analysis.kinds import Func
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context


def unpacked(
    context: Context, node: ast.expr, function: ast.AST | None, lines: tuple[int, int] = (0, sys.maxsize)
) -> list[tuple[ast.expr, ast.AST | None]]:
    """What a name gets out of a tuple: ``values, order = x, x.argsort()[::-1]``, or of a function that returns one.

    Of the statements in ``lines`` only (``surely_since``).
    """
    if not isinstance(node, ast.Name):
        return []
    function = function or context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    found: list[tuple[ast.expr, ast.AST | None]] = []
    for at, count, made in context.ask(_unpackings, function or context.source.tree).get(node.id, []):
        if not lines[0] <= made.lineno < lines[1]:
            continue
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
    return list(within(scope).of(ast.Assign))


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
    first, last = surely_since(context, node)
    return [value for value in assigned(context, node, None) if first <= value.lineno < last]


def surely_since(context: Context, node: ast.Name) -> tuple[int, int]:
    """The lines whose statements may have given a name its value: from the last one before it that always runs.

    They end where the name stands; in a loop that begins behind that statement, at the loop's end: what stands there
    runs before the name is read again.
    """
    scope = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    around = list(context.source.ancestors(node))
    places = {id(place) for place in around}
    first = max(
        (
            statement.lineno
            for statement in context.ask(_statements_by_name, scope).get(node.id, [])
            if (statement.end_lineno or statement.lineno) < node.lineno
            and any(id(other) in places for other in context.source.block(statement))
        ),
        default=None,
    )
    if first is None:
        return 0, sys.maxsize
    loops = [n for n in around if isinstance(n, (ast.For, ast.AsyncFor, ast.While)) and n.lineno > first]
    return first, max([node.lineno, *((loop.end_lineno or 0) + 1 for loop in loops)])


def _statements_by_name(context: Context, scope: ast.AST) -> dict[str, list[ast.Assign]]:
    """The assignments of a function that give a name a value, by itself or with others."""
    found: dict[str, list[ast.Assign]] = {}
    for statement in _statements(context, scope):
        for target in statement.targets:
            for item in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(item, ast.Name):
                    found.setdefault(item.id, []).append(statement)
    return found


def returned(function: ast.AST) -> list[ast.expr]:
    """What the return statements of a function give."""
    return [n.value for n in within(function).of(ast.Return) if n.value is not None]
