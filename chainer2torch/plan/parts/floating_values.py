"""Whether a value holds floating numbers of whichever size: what a layer gives, and what is made of that."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Func, Inst, Kind, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching, returned, unpacked

_DEPTH = 6
# tables of functions whose results are floating; other functions give what they get
_TABLES = "activation connection evaluation loss noise normalization pooling rnn"
_FLOATING = frozenset(f"functions/{name}.toml" for name in _TABLES.split())
_GIVING = frozenset({"functions/array.toml", "functions/math.toml"})
_WHOLE = frozenset({"argmax", "argmin"})
_HELD = frozenset({"T", "array", "data", "grad"})
_OF_LAYERS = frozenset({"W", "b", "beta", "gamma", "avg_mean", "avg_var"})
_PARAMETERS = frozenset({"W", "beta", "gamma"})
_METHODS = frozenset("clip copy cumsum flatten max mean min prod ravel repeat reshape squeeze".split())
_METHODS |= {"std", "sum", "swapaxes", "take", "transpose", "var"}


def is_floating(context: Context, node: ast.expr, depth: int = 0) -> bool:
    """Whether a tensor is of a floating dtype for sure, also where the analysis does not know of which."""
    kinds = options(context.kind(node))
    if _is_unknown_parameter(context, node):
        return True
    if not all(isinstance(k, Tensor) for k in kinds):
        return False
    if all((getattr(k, "dtype", None) or "").startswith("float") for k in kinds):
        return True
    if any(getattr(k, "dtype", None) is not None for k in kinds) or depth > _DEPTH:
        return False
    if isinstance(node, ast.Name):
        parts = [value for value, _ in unpacked(context, node, None) if value in context.source.parents]
        values = [*reaching(context, node), *parts]
        return bool(values) and all(is_floating(context, value, depth + 1) for value in values)
    if isinstance(node, ast.Attribute):
        return node.attr in _HELD and is_floating(context, node.value, depth + 1) or _is_of_layer(context, node)
    if isinstance(node, ast.Subscript):
        return is_floating(context, node.value, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return is_floating(context, node.operand, depth + 1)
    if isinstance(node, ast.BinOp):  # beside floating numbers there is nothing that makes whole ones
        return any(is_floating(context, side, depth + 1) for side in (node.left, node.right))
    return isinstance(node, ast.Call) and _gives_floating(context, node, depth + 1)


def _gives_floating(context: Context, call: ast.Call, depth: int) -> bool:
    kinds = options(context.kind(call.func))
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        held = context.kind(call.func.value)
        if all(isinstance(k, Tensor) for k in options(held)):
            retyped = any(keyword.arg == "dtype" for keyword in call.keywords)
            return not retyped and is_floating(context, call.func.value, depth)
    if kinds == (UNKNOWN,):  # a model that nobody knows: its result is a Variable, and models give floating ones
        return not isinstance(call.func, ast.Attribute) or context.kind(call.func.value) == UNKNOWN
    return all(_is_floating_call(context, call, kind, depth) for kind in kinds)


def _is_floating_call(context: Context, call: ast.Call, callee: Kind, depth: int) -> bool:
    if isinstance(callee, Inst) and isinstance(callee.cls, ClassInfo) and context.analysis.is_link(callee):
        method = context.analysis.class_attribute(callee.cls, "forward", callee)
        if not isinstance(method, Func):
            method = context.analysis.class_attribute(callee.cls, "__call__", callee)
        callee = method
    if isinstance(callee, Func):
        made = [value for value in returned(callee.info.node) if value in context.source.parents]
        return bool(made) and all(is_floating(context, value, depth) for value in made)
    if isinstance(callee, Inst):
        return isinstance(callee.cls, str) and context.analysis.is_link(callee)
    row = context.rules.rows.get(callee.name) if isinstance(callee, Ref) else None
    if row is None or row.name.rpartition(".")[2] in _WHOLE:
        return False
    if row.home in _FLOATING:
        return True
    first = call.args[0] if call.args else None
    parts = first.elts if isinstance(first, (ast.List, ast.Tuple)) else [first]
    return row.home in _GIVING and any(part is not None and is_floating(context, part, depth) for part in parts)


def _is_unknown_parameter(context: Context, node: ast.expr) -> bool:
    """``model.fc.W`` of a model that nobody knows."""
    return isinstance(node, ast.Attribute) and node.attr in _PARAMETERS and context.kind(node.value) == UNKNOWN


def _is_of_layer(context: Context, node: ast.Attribute) -> bool:
    """``model.fc.W``"""
    kinds = options(context.kind(node.value))
    layers = all(isinstance(k, Inst) and isinstance(k.cls, str) and k.cls.startswith("chainer.links.") for k in kinds)
    return layers and node.attr in _OF_LAYERS


__all__ = ["is_floating"]
