"""Comparisons of tensors with arrays on the host."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.host_arrays import comes_from_host, is_moved_to_device, may_be_host_array, tensor_of
from chainer2torch.plan.parts.host_values import is_held_by_anything, wrap
from chainer2torch.plan.parts.receivers import is_held_array
from chainer2torch.plan.questions.perhaps import may_be_array
from chainer2torch.plan.parts.sequences_of_numbers import BY_NUMPY, as_one_tensor


def compared_as_tensors(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``x.array <= y`` of a tensor and an array on the host, which PyTorch does not compare; ``!=`` gives one True."""
    sides = [node.left, *node.comparators]
    kinds = [context.analysis.kind(side) for side in sides]
    if len(sides) == 2 and isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        for at, other in enumerate(sides):
            if kinds[at] == UNKNOWN and _may_be_labels(context, other) and _has_elements(context, sides[1 - at]):
                wrap(context, decisions, other, "compat.from_host(value)")
    if not any(all(isinstance(k, Tensor) for k in options(kind)) for kind in kinds):
        _held_compared(context, decisions, sides, kinds)
        return
    for side, kind in zip(sides, kinds):
        if may_be_host_array(kind) or kind == UNKNOWN and comes_from_host(context, side):
            wrap(context, decisions, side, tensor_of(context, side))
        elif any(_is_array(other) for other in kinds) and (template := as_one_tensor(kind)):
            wrap(context, decisions, side, template)  # Python says False for `==` of a list and a tensor


def _may_be_labels(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind may be an array of the host: a name, and nothing that a Variable holds."""
    if context.migrated or not context.imports_chainer or comes_from_host(context, node):
        return False
    return isinstance(node, ast.Name) and not is_held_by_anything(context, node)


def _has_elements(context: Context, node: ast.expr) -> bool:
    """Whether it is an array with axes that is a tensor now: ``y.data.argmax(axis=1)``."""
    kinds = options(context.analysis.kind(node))
    if kinds != (UNKNOWN,):
        return all(isinstance(k, Tensor) and k.array and k.rank != 0 for k in kinds)
    values = reaching(context, node) if isinstance(node, ast.Name) else [node]
    made = [value for value in values if isinstance(value, ast.Call) and (value.args or value.keywords)]
    return bool(made) and is_held_by_anything(context, node)  # not `key.data`, nor `y.data.argmax()`


def _is_array(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.array for k in options(kind))


def _may_be_tensor(kind: Kind) -> bool:
    """Whether some callers give a tensor, and others a number or an array of the host."""
    return len(options(kind)) > 1 and any(isinstance(k, Tensor) for k in options(kind))


def _held_compared(context: Context, decisions: Decisions, sides: list[ast.expr], kinds: list[Kind]) -> None:
    """``a.array <= high`` of an ``a`` that nobody knows: both become what the other side is."""
    if len(sides) != 2 or not context.imports_chainer or context.migrated:
        return
    for at, held in enumerate(sides):
        other, kind = sides[1 - at], kinds[1 - at]
        if _may_be_tensor(kinds[at]) and _is_on_host(kind):
            wrap(context, decisions, held, "compat.to_host(value)")  # `boxes >= scale`: an element of an array at times
            continue
        attribute = isinstance(held, ast.Attribute) and is_held_array(context, held)
        array = attribute or is_held_by_anything(context, held) or may_be_array(context, held)
        if kinds[at] != UNKNOWN or not array:
            continue
        if is_moved_to_device(kind):
            wrap(context, decisions, other, tensor_of(context, other))
        elif _is_on_host(kind):
            wrap(context, decisions, held, "compat.to_host(value)")


def _is_on_host(kind: Kind) -> bool:
    """Whether it is an array on the host, or a sequence that becomes one beside such an array."""
    return all(isinstance(k, HostArray) or as_one_tensor(k) == BY_NUMPY for k in options(kind))


__all__ = ["compared_as_tensors"]
