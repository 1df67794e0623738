"""Calls as the reading of graphs looks at them: what they name, in which order they run, what stops recording."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def called_name(node: ast.expr) -> str:
    """The last part of the name of what an expression calls."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def stops_recording(item: ast.withitem) -> bool:
    """``with chainer.no_backprop_mode():`` and ``with chainer.using_config('enable_backprop', False):``."""
    call = item.context_expr
    name = call.func if isinstance(call, ast.Call) else call
    spelled = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
    if spelled == "using_config" and isinstance(call, ast.Call):
        return [ast.unparse(a) for a in call.args[:2]] == ["'enable_backprop'", "False"]
    return spelled in ("no_backprop_mode", "no_grad")


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of an expression or a simple statement, inner ones first; not those inside a lambda."""
    if isinstance(node, ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from calls_in(child)
    if isinstance(node, ast.Call):
        yield node


__all__ = ["called_name", "calls_in", "stops_recording"]
