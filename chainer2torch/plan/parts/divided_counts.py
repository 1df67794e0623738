"""Counts that may be numbers of Python or elements of tensors: ``n = 0``, ``n = n + (a == b)``, ``n / len(t)``.

NumPy computes in float64 with whole numbers beside floating ones, and in a division. PyTorch gives float32 for its own
whole numbers, and for nothing else: what may be one of them is made a number first.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Kind, Tensor, options, scalar_type
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.sure_tensors import is_summed

_WHOLE = frozenset({"bool", "int32", "int64"})
_NUMBERS = frozenset({"int", "bool"})


def divided(context: Context, decisions: Decisions, node: ast.BinOp) -> bool:
    """Makes such a count beside a division or a floating number one of Python's; False: there is none."""
    left, right = context.analysis.kind(node.left), context.analysis.kind(node.right)
    counts = [side for side, kind in ((node.left, left), (node.right, right)) if is_count(kind)]
    floating = any(scalar_type(k) == "float" for kind in (left, right) for k in options(kind))
    if not counts or not (isinstance(node.op, ast.Div) or floating):
        return False
    if not all(_is_number(k) or k == UNKNOWN for kind in (left, right) for k in options(kind)):
        return False
    for side in counts:  # what a loop has added to is taken for a tensor where it is written out
        surely = context.choices.style == "native" and is_summed(context, side)
        wrap(context, decisions, side, "value.double()" if surely else "float(value)")
    for side, kind in ((node.left, left), (node.right, right)):
        if side not in counts and _is_element(kind):
            wrap(context, decisions, side, "value.double()")
    return True


def is_count(kind: Kind) -> bool:
    """Whether it is a whole number of Python on one way, and an element of a tensor on another."""
    found = options(kind)
    whole = all(_is_element(k) or scalar_type(k) in _NUMBERS for k in found)
    return whole and any(map(_is_element, found)) and not all(map(_is_element, found))


def _is_element(kind: Kind) -> bool:
    return isinstance(kind, Tensor) and kind.array and kind.rank == 0 and kind.dtype in _WHOLE


def _is_number(kind: Kind) -> bool:
    return _is_element(kind) or scalar_type(kind) in ("int", "bool", "float")


__all__ = ["divided", "is_count"]
