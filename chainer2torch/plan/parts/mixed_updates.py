"""``kept -= boxes`` where one may be an array of the host and the other a tensor, and ``kept[0] = boxes`` of such."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.fed_tensors import is_fed_tensor
from chainer2torch.plan.parts.host_arrays import comes_from_host, tensor_of
from chainer2torch.plan.parts.host_values import wrap


def may_meet(context: Context, node: ast.AugAssign) -> bool:
    """Whether an operator may change an array of the host by a tensor that was an array: NumPy refuses that.

    Where both are known that is decided elsewhere.
    """
    held, value = context.analysis.kind(node), context.analysis.kind(node.value)
    if not context.imports_chainer or context.migrated or isinstance(held, HostArray):
        return False
    return _may_be_host(context, node.target, held) and _may_be_tensor(context, node.value, value)


def into_host_array(context: Context, decisions: Decisions, value: ast.expr, target: Kind) -> bool:
    """Converts a tensor that was an array, where it is written into a NumPy array."""
    kinds = options(context.analysis.kind(value))
    if not all(isinstance(k, HostArray) for k in options(target)):
        return False
    if is_fed_tensor(context, value):
        return wrap(context, decisions, value, "compat.to_host(value)")
    if not any(_is_array(k) for k in kinds):
        return False
    if all(_is_array(k) for k in kinds):
        decisions.wrap(value, "value.cpu().numpy()")
        return True
    return _all_arrays(kinds) and wrap(context, decisions, value, "compat.to_host(value)")


def into_either(context: Context, decisions: Decisions, value: ast.expr, target: Kind) -> None:
    """Converts an array of the host, where it is written into what is a tensor for some callers: NumPy takes both."""
    held, kinds = options(target), options(context.analysis.kind(value))
    mixed = _all_arrays(held) and any(_is_array(k) for k in held) and any(isinstance(k, HostArray) for k in held)
    if mixed and _all_arrays(kinds) and any(isinstance(k, HostArray) for k in kinds):
        wrap(context, decisions, value, tensor_of(context, value))


def _may_be_host(context: Context, node: ast.expr, kind: Kind) -> bool:
    if kind == UNKNOWN:
        return comes_from_host(context, node)
    return _all_arrays(options(kind)) and any(isinstance(k, HostArray) for k in options(kind))


def _may_be_tensor(context: Context, node: ast.expr, kind: Kind) -> bool:
    if kind == UNKNOWN:
        return is_fed_tensor(context, node)
    return _all_arrays(options(kind)) and any(_is_array(k) for k in options(kind))


def _all_arrays(kinds: tuple[Kind, ...]) -> bool:
    return all(isinstance(k, HostArray) or _is_array(k) for k in kinds)


def _is_array(kind: Kind) -> bool:
    return isinstance(kind, Tensor) and kind.array


__all__ = ["into_either", "into_host_array", "may_meet"]
