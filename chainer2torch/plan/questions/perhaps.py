"""Values of which nothing is sure but that a tensor may come: what is asked of them is asked at run time."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Kind, Lst, Perhaps, Tensor, options
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


def may_be_variable(context: Context, node: ast.expr) -> bool:
    """Whether it is a Variable on some ways of the program, and a number, an array or what nobody knows on others."""
    if any(not one.array for one in tensors_perhaps(context, node)):
        return True
    kinds = options(context.kind(node))
    variables = [k for k in kinds if isinstance(k, Tensor) and not k.array]
    return bool(variables) and len(variables) < len(kinds) and context.imports_chainer and not context.migrated


def may_be_host_array(context: Context, node: ast.expr) -> bool:
    """Whether it may be an array of NumPy, or a Variable on other ways, and more is not known of it."""
    kind = context.kind(node)
    known = options(kind.known) if isinstance(kind, Perhaps) and not context.migrated else ()
    arrays = all(isinstance(one, (HostArray, Tensor)) for one in known)
    return context.imports_chainer and arrays and any(isinstance(one, HostArray) for one in known)


def may_hold_elements(context: Context, node: ast.expr) -> bool:
    """Whether it may be such an array, or a list of what may be one: its items are hashed one by one."""
    kind = context.kind(node)
    item = kind.element if isinstance(kind, Lst) else kind.known if isinstance(kind, Perhaps) else kind
    if isinstance(kind, Perhaps) and isinstance(item, Lst):
        item = item.element
    known = item.known if isinstance(item, Perhaps) else item if isinstance(kind, Perhaps) else None
    arrays = known is not None and any(isinstance(one, Tensor) and one.array for one in options(known))
    return arrays and context.imports_chainer and not context.migrated


__all__ = [
    "may_be_array",
    "may_be_host_array",
    "may_be_tensor",
    "may_be_variable",
    "may_hold_elements",
    "tensors_perhaps",
]
