"""``a // b``: of Variables the floor of the quotient, of arrays NumPy's division, which keeps whole numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Tensor
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})
_ROW = "chainer.Variable.__floordiv__"


def floor_division(context: Context, decisions: Decisions, node: ast.BinOp) -> bool:
    """Writes the division of a Variable out; whether it did.

    A parameter that nothing tells more of than that it is taken for a tensor may be an array: lengths of sequences,
    which Chainer hands to a model as they are. There it is asked when the program runs.
    """
    sides = [(side, context.analysis.kind(side)) for side in (node.left, node.right)]
    if not any(isinstance(k, Tensor) and not k.array and k.dtype not in _WHOLE for _, k in sides):
        return False
    unsure = any(kind in (Tensor(), Tensor(either=True)) and _is_of_parameters(context, side) for side, kind in sides)
    template = "compat.floor_division(a, b)" if unsure else "torch.floor(a / b)"
    decisions.replace(node, template, {"a": context.operand(node.left), "b": context.operand(node.right)})
    decisions.mark(node, context.rules.rows.get(_ROW), _ROW, "exact")
    return True


def _is_of_parameters(context: Context, value: ast.expr) -> bool:
    """Whether a value is made of parameters and numbers alone, by operators."""
    return all(_is_parameter(context, leaf) or isinstance(leaf, ast.Constant) for leaf in _leaves(value))


def _leaves(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.BinOp):
        yield from _leaves(value.left)
        yield from _leaves(value.right)
    elif isinstance(value, ast.UnaryOp):
        yield from _leaves(value.operand)
    else:
        yield value


def _is_parameter(context: Context, value: ast.expr) -> bool:
    """A parameter that its function binds to nothing else than such values."""
    scope = context.scopes.get(value) if isinstance(value, ast.Name) else None
    if not isinstance(value, ast.Name) or not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    arguments = (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)
    if value.id not in {a.arg for a in arguments}:
        return False
    stores = [
        n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == value.id and isinstance(n.ctx, ast.Store)
    ]
    return all(_is_made_of(context.source.parents.get(store), value.id) for store in stores)


def _is_made_of(statement: ast.AST | None, name: str) -> bool:
    """Whether a statement binds a name to what operators make of itself and numbers: ``n = (n + 1) // 2``."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Assign) and all(
        isinstance(leaf, ast.Constant) or isinstance(leaf, ast.Name) and leaf.id == name
        for leaf in _leaves(statement.value)
    )


__all__ = ["floor_division"]
