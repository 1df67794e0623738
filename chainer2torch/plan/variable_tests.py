"""``isinstance(x, chainer.Variable)``: where the answer makes no difference for an array, which is a tensor, too.

Chainer tells a Variable from the array in it; in PyTorch both are tensors, and the test is true for both. Two uses of
it mean the same all the same: an assertion that it is a Variable, which arrays pass now, and code that only takes the
array out of a Variable, since an array that is taken out of an array is the same array.
"""
from __future__ import annotations

import ast
from typing import Any

from chainer2torch.analysis.source import Source

_INSIDE = frozenset({"array", "data"})


def harmless(source: Source, test: ast.Call) -> bool:
    """Whether ``test``, an ``isinstance(x, chainer.Variable)``, may answer True for an array as well."""
    whole: ast.expr = test
    parent = source.parents[whole]
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):  # `assert isinstance(x, ...) and x.ndim == 2`
        whole, parent = parent, source.parents[parent]
        return isinstance(parent, ast.Assert) and parent.test is whole
    if isinstance(parent, ast.Assert):
        return parent.test is whole
    negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    if negated:
        assert isinstance(parent, ast.UnaryOp)
        whole, parent = parent, source.parents[parent]
    if isinstance(parent, (ast.If, ast.IfExp)) and parent.test is whole and not isinstance(test.args[1], ast.Tuple):
        of_variable, of_array = _branches(source, parent)
        if negated:
            of_variable, of_array = of_array, of_variable
        return _without_taking_out(of_variable, test.args[0]) == _without_taking_out(of_array, test.args[0])
    return False


def _branches(source: Source, node: ast.If | ast.IfExp) -> tuple[list[Any], list[Any]]:
    """What runs if the test is true and if it is not: after an ``if`` that returns, the statement behind it."""
    if isinstance(node, ast.IfExp):
        return [node.body], [node.orelse]
    if not node.orelse and isinstance(node.body[-1], ast.Return):
        block = next(b for _, b in ast.iter_fields(source.parents[node]) if isinstance(b, list) and node in b)
        behind = block.index(node) + 1
        return node.body, block[behind:behind + 1]
    return node.body, node.orelse


def _without_taking_out(code: list[Any], value: ast.expr) -> list[Any]:
    """The code as nested tuples: ``x.array`` and ``x.data`` are ``x``; what then does nothing (``x = x``) is gone."""
    plain = _plain(value, "")
    text = ast.unparse(value)
    return [_plain(node, text) for node in code if not (
        isinstance(node, ast.Pass) or isinstance(node, ast.Assign) and len(node.targets) == 1
        and _plain(node.targets[0], "") == plain == _plain(node.value, text))]


def _plain(node: Any, text: str) -> Any:
    if isinstance(node, list):
        return tuple(_plain(item, text) for item in node)
    if not isinstance(node, ast.AST):
        return node
    if isinstance(node, ast.Attribute) and node.attr in _INSIDE and ast.unparse(node.value) == text:
        return _plain(node.value, text)
    return (type(node), *(_plain(item, text) for name, item in ast.iter_fields(node) if name != "ctx"))
