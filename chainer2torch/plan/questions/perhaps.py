"""Values of which nothing is sure but that a tensor may come: what is asked of them is asked at run time."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Kind, Perhaps, Tensor, options
from chainer2torch.plan.context import Context


def tensors_perhaps(context: Context, node: ast.expr) -> list[Tensor]:
    """The tensors that such a value may be; empty: none, or its kind is known."""
    kind: Kind = context.kind(node)
    if context.migrated or not context.imports_chainer or not isinstance(kind, Perhaps):
        return []
    return [one for one in options(kind.known) if isinstance(one, Tensor)]


def may_be_tensor(context: Context, node: ast.expr) -> bool:
    """Whether it may be a tensor."""
    return bool(tensors_perhaps(context, node))


def may_be_array(context: Context, node: ast.expr) -> bool:
    """Whether it may be a tensor that was an array in Chainer's program, and no Variable."""
    return any(one.array or one.either for one in tensors_perhaps(context, node))


__all__ = ["may_be_array", "may_be_tensor", "tensors_perhaps"]
