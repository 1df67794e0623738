"""What PyTorch does not have (ChainerX, iDeep): tests for it are constant, and what they guard never runs."""

from __future__ import annotations

import ast
from collections.abc import Callable

from chainer2torch.analysis.kinds import Kind, Ref

_IDEEP = "chainer.backends.intel64"
NEVER = frozenset(
    {
        "chainerx",
        "chainer.backend.ChainerxDevice",
        "chainer.backend.Intel64Device",
        "chainerx.ndarray",
        _IDEEP,
    }
)
_ASKING = frozenset({"chainerx.is_available", f"{_IDEEP}.is_ideep_available", f"{_IDEEP}.should_use_ideep"})
# the nodes of which `constant_test` can say something
TESTS = (ast.Compare, ast.Call, ast.Attribute)
KindOf = Callable[[ast.AST], Kind]


def constant_test(node: ast.AST, kind: KindOf) -> bool | None:
    """The value of one test for something that PyTorch does not have; None: it is no such test."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        sides = (node.left, node.comparators[0])
        if any(_is_never(s, kind) for s in sides) and not all(_is_never(s, kind) for s in sides):
            return isinstance(node.ops[0], ast.IsNot)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2
        and _is_never(node.args[1], kind)
    ):
        return False
    if isinstance(node, ast.Call):
        callee = kind(node.func)
        if isinstance(callee, Ref) and callee.name in _ASKING:
            return False
    if isinstance(node, ast.Attribute):
        value = kind(node)
        if isinstance(value, Ref) and value.name == "chainerx.__available__":
            return False
    return None


def truth(node: ast.expr, kind: KindOf) -> bool | None:
    """The value of a condition that is constant because of such tests; None: it is decided when the program runs."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = truth(node.operand, kind)
        return None if value is None else not value
    if isinstance(node, ast.BoolOp):
        decides = isinstance(node.op, ast.Or)
        return decides if any(truth(v, kind) is decides for v in node.values) else None
    return constant_test(node, kind)


def _is_never(node: ast.expr, kind: KindOf) -> bool:
    found = kind(node)
    return isinstance(found, Ref) and found.name in NEVER
