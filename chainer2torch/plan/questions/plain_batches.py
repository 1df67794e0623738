"""Batches that torch's own ``default_collate`` stacks as Chainer does: of rows of arrays and numbers, taken apart."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Dct, HostArray, Kind, Lst, Tensor, Tup, Union, options, scalar_type
from chainer2torch.plan.context import Context


def may_hold_lists(kind: Kind) -> bool:
    """Whether an example may have lists in it, which default_collate takes apart and Chainer stacks."""
    if isinstance(kind, (Tup, Union)):
        return any(map(may_hold_lists, kind.items if isinstance(kind, Tup) else options(kind)))
    if isinstance(kind, Dct):
        return may_hold_lists(kind.element)
    return not isinstance(kind, (HostArray, Tensor)) and scalar_type(kind) not in ("int", "float", "bool", "str")


def is_plain_batch(context: Context, call: ast.Call, batch: ast.expr | None) -> bool:
    """Whether the examples of a batch are rows of arrays and numbers, and the result is only taken apart.

    default_collate gives a list for a tuple.
    """
    if batch is None or not _is_taken_apart(context, call):
        return False
    kinds = options(context.kind(batch))
    rows = [row for kind in kinds if isinstance(kind, Lst) for row in options(kind.element)]
    parts = [part for row in rows if isinstance(row, Tup) for part in row.items]
    return (
        bool(parts)
        and all(isinstance(kind, Lst) for kind in kinds)
        and all(isinstance(row, Tup) for row in rows)
        and all(isinstance(k, (HostArray, Tensor)) or _is_number(k) for part in parts for k in options(part))
    )


def _is_number(kind: Kind) -> bool:
    return scalar_type(kind) in ("int", "float", "bool")


def _is_taken_apart(context: Context, call: ast.Call) -> bool:
    """``x, t = f(batch)``, ``model(*f(batch))``."""
    parent = context.source.parents.get(call)
    if isinstance(parent, ast.Starred):
        return isinstance(context.source.parents.get(parent), ast.Call)
    return isinstance(parent, ast.Assign) and all(isinstance(t, (ast.List, ast.Tuple)) for t in parent.targets)


__all__ = ["is_plain_batch", "may_hold_lists"]
