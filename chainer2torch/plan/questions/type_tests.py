"""Comparisons of classes: ``type(x) is C`` and ``C != type(x)``."""

from __future__ import annotations

import ast
from typing import NamedTuple

from chainer2torch.analysis.kinds import Ref, Tensor, options
from chainer2torch.plan.context import Context

# where a condition is asked for and nothing is stored of it
_CONDITIONS = (ast.If, ast.IfExp, ast.While)
_PARTS = (ast.BoolOp, ast.UnaryOp)


class TypeTest(NamedTuple):
    """``type(value) is cls``; ``negated`` for ``is not`` and ``!=``."""

    value: ast.expr
    cls: ast.expr
    negated: bool


def type_test(context: Context, node: ast.Compare) -> TypeTest | None:
    """The value and the class that are compared, whichever stands first; None for other comparisons."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        return None
    negated = isinstance(node.ops[0], (ast.NotEq, ast.IsNot))
    for asked, cls in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        if isinstance(asked, ast.Call) and len(asked.args) == 1 and not asked.keywords:
            if context.analysis.kind(asked.func) == Ref("builtins.type"):
                return TypeTest(asked.args[0], cls, negated)
    return None


def variable_asked(context: Context, value: ast.expr, test: ast.expr) -> ast.expr | None:
    """The Variable of ``if type(h.data) is np.ndarray``, which asks for the device of its array; None for another.

    What may be an array itself has no array of NumPy's under ``data``, and a parameter may have None there.
    """
    if not isinstance(value, ast.Attribute) or value.attr not in ("data", "array"):
        return None
    if not isinstance(value.value, ast.Name):
        return None
    kinds = options(context.analysis.kind(value.value))
    if not all(isinstance(k, Tensor) and not k.array and not k.either for k in kinds):
        return None
    inner: ast.AST = test
    outer = context.source.parents.get(test)
    while isinstance(outer, _PARTS):
        inner, outer = outer, context.source.parents.get(outer)
    return value.value if isinstance(outer, _CONDITIONS) and outer.test is inner else None
