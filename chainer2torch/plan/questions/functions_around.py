"""The functions that stand around a place."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import FUNCTIONS


def functions_around(context: Context, node: ast.AST) -> frozenset[ast.AST]:
    """The functions around a node."""
    found = []
    parent = context.source.parents.get(node)
    while parent is not None:
        if isinstance(parent, FUNCTIONS):
            found.append(parent)
        parent = context.source.parents.get(parent)
    return frozenset(found)
