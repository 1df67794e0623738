"""Local names that are None on some ways: ``n = None``, and ``n = 4`` if something holds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Module)
_Asked = Callable[[ast.expr], bool]


def local_may_be_none(context: Context, node: ast.Name, asked: _Asked) -> bool | None:
    """Whether what a name was given last may be None; ``asked`` says it of a value. None: it is given nothing here."""
    inner: ast.AST = node
    for outer in context.source.ancestors(node):
        if isinstance(outer, ast.If) and inner in (outer.body if _asks(outer.test, node.id) else ()):
            return False
        for block in _blocks(outer):
            if inner not in block:
                continue
            found = _in_block(block[: block.index(inner)], node.id, asked)
            if found is not None:
                return found
            if any(_replaces(statement, node.id) for statement in block[: block.index(inner)]):
                return False
        if isinstance(outer, _FUNCTIONS):
            return None
        inner = outer
    return None


def _in_block(statements: Sequence[ast.stmt], name: str, asked: _Asked) -> bool | None:
    """What the last statement says that gives a name something; None: none does on every way, and none gives None."""
    for statement in reversed(statements):
        if isinstance(statement, ast.Assign) and (values := _given(statement, name)):
            return any(asked(value) for value in values)
        if not _stores(statement, name) or isinstance(statement, _FUNCTIONS):
            continue
        branches = [_in_block(block, name, asked) for block in _blocks(statement) if block]
        if True in branches:
            return True
        if isinstance(statement, ast.If) and statement.orelse and None not in branches:
            return False
    return None


def _given(statement: ast.Assign, name: str) -> list[ast.expr]:
    """What an assignment gives a name: ``n = 4``, ``out, n = n, None``."""
    found = [statement.value for t in statement.targets if isinstance(t, ast.Name) and t.id == name]
    for target in statement.targets:
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(statement.value, (ast.Tuple, ast.List)):
            pairs = zip(target.elts, statement.value.elts)
            if len(target.elts) == len(statement.value.elts):
                found += [value for t, value in pairs if isinstance(t, ast.Name) and t.id == name]
    return found


def _replaces(statement: ast.stmt, name: str) -> bool:
    """``if n is None: n = 4``, also of several names."""
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.left, ast.Name)
        and statement.test.left.id == name
        and isinstance(statement.test.ops[0], ast.Is)
        and isinstance(statement.test.comparators[0], ast.Constant)
        and any(isinstance(inner, ast.Assign) and _stores(inner, name) for inner in statement.body)
    )


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(node, "handlers", ())]
    return [block for block in blocks if isinstance(block, list)]


def _stores(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load)
        for part in nodes_of(statement)
    )


def _asks(test: ast.expr, name: str) -> bool:
    """``if n is not None``, ``if n``"""
    if isinstance(test, ast.Name):
        return test.id == name
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == name
        and isinstance(test.ops[0], ast.IsNot)
    )


__all__ = ["local_may_be_none"]
