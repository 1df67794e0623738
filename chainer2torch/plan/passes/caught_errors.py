"""``except type_check.InvalidType``: what Chainer's type checks refuse, PyTorch refuses with errors of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_SYMBOL = "chainer.utils.type_check.InvalidType"
_EXPECTING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises"})
_CAUGHT = (
    "PyTorch's operations raise RuntimeError, ValueError, IndexError or TypeError where Chainer's type checks raise "
    "this; name those that are meant"
)


def run(context: Context) -> Decisions:
    """Marks where Chainer's error is caught, or expected by a test."""
    decisions = Decisions(context)
    if "InvalidType" not in context.source.text or context.migrated:
        return decisions
    for place in _places(context):
        for node in nodes_of(place):
            if isinstance(node, (ast.Name, ast.Attribute)) and context.reference(node) == _SYMBOL:
                decisions.refine(node, context.rules.rows.get(_SYMBOL), "review", _CAUGHT)
    return decisions


def _places(context: Context) -> Iterator[ast.expr]:
    """What `except` names, and the arguments of `assertRaises` and `pytest.raises`."""
    for node in context.source.of(ast.ExceptHandler, ast.Call):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield node.type
        elif isinstance(node, ast.Call) and _last(node.func) in _EXPECTING:
            yield from node.args[:1]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
