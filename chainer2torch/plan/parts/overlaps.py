"""Writes into an array from a part of the same: ``buffer[1:] = buffer[:-1]``. PyTorch refuses them, NumPy copies."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.host_values import wrap

_ARRAYS = frozenset({"array", "data"})
_COMPUTED = (ast.List, ast.ListComp, ast.Call, ast.Compare, ast.Starred, ast.Lambda)  # they choose elements: a copy


def overlapping(context: Context, decisions: Decisions, value: ast.Subscript) -> None:
    """Copies a part that is read, where its statement writes into a part of the same tensor."""
    statement = context.source.parents.get(value)
    written = _written(statement) if isinstance(statement, (ast.Assign, ast.AugAssign)) else None
    if written is None or not isinstance(value.ctx, ast.Load) or not _is_view(value):
        return
    if not all(isinstance(kind, Tensor) and kind.array for kind in options(context.kind(written))):
        return
    if not _bases(context, written).isdisjoint(_bases(context, value.value)):
        wrap(context, decisions, value, "value.clone()")


def _written(statement: ast.Assign | ast.AugAssign) -> ast.expr | None:
    """The array that a statement writes into: ``x[:, 0] = ...``, ``x += ...``; none where a name is bound anew."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) == 1 and isinstance(targets[0], ast.Subscript):
        return targets[0].value
    return targets[0] if isinstance(statement, ast.AugAssign) else None


def _is_view(value: ast.Subscript) -> bool:
    """Whether an index is made of slices and numbers alone, at least one of them a slice."""
    parts = list(ast.walk(value.slice))
    return any(isinstance(p, ast.Slice) for p in parts) and not any(isinstance(p, _COMPUTED) for p in parts)


def _bases(context: Context, array: ast.expr) -> frozenset[str]:
    """An array as it is written, and what its name was bound to: ``canvas = mask.data``."""
    found = {_text(array)}
    if isinstance(array, ast.Name):
        found |= {_text(value) for value in reaching(context, array) if isinstance(value, (ast.Attribute, ast.Name))}
    return frozenset(found)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and node.attr in _ARRAYS:
        return ast.unparse(node.value) + ".array"
    return ast.unparse(node)


__all__ = ["overlapping"]
