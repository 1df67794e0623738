"""Comparisons of tensors with arrays on the host."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import comes_from_host, is_moved_to_device, may_be_host_array, tensor_of
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.receivers import is_held_array
from chainer2torch.plan.parts.sequences_of_numbers import holds_numbers


def compared_as_tensors(context: Context, decisions: Decisions, sides: list[ast.expr]) -> None:
    """``x.array <= y`` of a tensor and an array on the host, which PyTorch does not compare; ``!=`` gives one True."""
    kinds = [context.analysis.kind(side) for side in sides]
    if not any(all(isinstance(k, Tensor) for k in options(kind)) for kind in kinds):
        _held_compared(context, decisions, sides, kinds)
        return
    for side, kind in zip(sides, kinds):
        if may_be_host_array(kind) or kind == UNKNOWN and comes_from_host(context, side):
            wrap(context, decisions, side, tensor_of(context, side))
        elif holds_numbers(kind) and any(_is_array(other) for other in kinds):
            wrap(context, decisions, side, "torch.as_tensor(numpy.asarray(value))")


def _is_array(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.array for k in options(kind))


def _held_compared(context: Context, decisions: Decisions, sides: list[ast.expr], kinds: list[Kind]) -> None:
    """``a.array <= high`` of an ``a`` that nobody knows: both become what the other side is."""
    if len(sides) != 2 or not context.imports_chainer or context.migrated:
        return
    for at, held in enumerate(sides):
        other, kind = sides[1 - at], kinds[1 - at]
        if kinds[at] != UNKNOWN or not isinstance(held, ast.Attribute) or not is_held_array(context, held):
            continue
        if is_moved_to_device(kind):
            wrap(context, decisions, other, tensor_of(context, other))
        elif all(isinstance(k, HostArray) for k in options(kind)):
            wrap(context, decisions, held, "compat.to_host(value)")


__all__ = ["compared_as_tensors"]
