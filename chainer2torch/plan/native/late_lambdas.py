"""Lambdas that may run when the function around them has returned, and in another mode then."""

from __future__ import annotations

import ast
import builtins

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Class, Func, Ref, options
from chainer2torch.analysis.source import Source, nodes_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# calls that run what they are given before they return, or while their result is read
_AT_ONCE = frozenset({"chainer.functions.forget", "functools.reduce"})


def late_lambda(analysis: Facts, source: Source, node: ast.AST) -> ast.Lambda | None:
    """The lambda around a node, in the same function, that is put away, returned or given to who keeps it; else None.

    At the top of a file every lambda is one: functions, which run later, may call it by its name.
    """
    inside = source.enclosing(node, *_FUNCTIONS)
    child = node
    for ancestor in source.ancestors(node):
        if ancestor is inside:
            return None
        if isinstance(ancestor, ast.Lambda) and child is ancestor.body:
            if inside is None or not _runs_here(analysis, source, ancestor, inside):
                return ancestor
        child = ancestor
    return None


def _runs_here(analysis: Facts, source: Source, node: ast.Lambda, function: ast.AST) -> bool:
    parent = source.parents.get(node)
    if isinstance(parent, ast.keyword):
        parent = source.parents.get(parent)
    if isinstance(parent, ast.Call):
        return parent.func is node or _runs_at_once(analysis, parent)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return _is_only_called(source, parent.targets[0].id, function)
    return False


def _runs_at_once(analysis: Facts, call: ast.Call) -> bool:
    """Whether a call is of a function that runs what it is given: Python's own, or one of the project's."""
    if isinstance(call.func, ast.Name) and call.func.id in vars(builtins):
        return True
    kinds = options(analysis.kind(call.func))
    if any(isinstance(kind, Class) for kind in kinds):
        return False  # its object may keep it
    return all(isinstance(kind, Func) or isinstance(kind, Ref) and kind.name in _AT_ONCE for kind in kinds)


def _is_only_called(source: Source, name: str, function: ast.AST) -> bool:
    """Whether every use of a name in a function is a call in that function itself, or hands it to one."""
    for node in nodes_of(function):
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent = source.parents.get(node)
        if not isinstance(parent, ast.Call) or source.enclosing(node, *_FUNCTIONS, ast.Lambda) is not function:
            return False
        if parent.func is not node and not (isinstance(parent.func, ast.Name) and parent.func.id in vars(builtins)):
            return False
    return True


__all__ = ["late_lambda"]
