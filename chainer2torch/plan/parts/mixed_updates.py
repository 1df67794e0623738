"""``kept -= boxes`` where one may be an array of the host and the other a tensor, and ``kept[0] = boxes`` of such."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.fed_tensors import is_fed_tensor
from chainer2torch.plan.parts.host_arrays import comes_from_host, tensor_of
from chainer2torch.plan.parts.host_values import wrap


def may_meet(context: Context, node: ast.AugAssign) -> bool:
    """Whether an operator may change an array of the host by a tensor that was an array: NumPy refuses that.

    Or the other way round: a tensor that meets an array of the host is silently another one afterwards, and what else
    holds it stays as it was (`m = self.state['m']`, `m += np.sign(g)`). Where both are known that is decided elsewhere.
    """
    held, value = context.analysis.kind(node), context.analysis.kind(node.value)
    if not context.imports_chainer or context.migrated or isinstance(held, HostArray):
        return False
    if _may_be_host(context, node.target, held) and _may_be_tensor(context, node.value, value):
        return True
    return _may_be_held_tensor(context, node.target, held) and all(isinstance(k, HostArray) for k in options(value))


def _may_be_held_tensor(context: Context, node: ast.expr, kind: Kind) -> bool:
    """Whether a name may be a tensor that was an array, which an attribute or a container holds."""
    kinds = options(kind)
    mixed = _all_arrays(kinds) and any(_is_array(k) for k in kinds) and any(isinstance(k, HostArray) for k in kinds)
    if not isinstance(node, ast.Name) or kind != UNKNOWN and not mixed:
        return False
    held = reaching(context, node)
    return bool(held) and all(isinstance(value, (ast.Attribute, ast.Subscript)) for value in held)


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
