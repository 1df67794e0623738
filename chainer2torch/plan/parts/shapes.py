"""Shapes of tensors: in Chainer's program they are tuples, in PyTorch ``torch.Size``."""

from __future__ import annotations

import ast
import functools

from chainer2torch.analysis.kinds import UNKNOWN, Const, Dct, Func, HostArray, Inst, Lst, Scalar, Tensor, Tup, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context


_OF_LAYERS_ALONE = frozenset({"W", "avg_mean", "avg_var"})  # other objects have none of these
_OF_LAYERS = _OF_LAYERS_ALONE | {"b", "beta", "gamma"}


def is_shape(context: Context, node: ast.expr) -> bool:
    """Whether an expression is a tensor's shape or made of one: ``x.shape``, ``x.shape[1:]``, ``x.shape + (1,)``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        return is_shape(context, node.left) or is_shape(context, node.right)
    whole = _unsliced(node)
    if isinstance(whole, ast.Call):
        values = returned_here(context, whole)
        return bool(values) and all(map(functools.partial(_is_member_shape, context), map(_unsliced, values)))
    if isinstance(whole, ast.Name):
        return _names_shape(context, whole)
    return _is_member_shape(context, whole) or _is_kept_shape(context, whole)


def returned_here(context: Context, call: ast.Call) -> list[ast.expr]:
    """What a function of this file, which is called, may return."""
    callee = context.analysis.kind(call.func)
    if not isinstance(callee, Func) or callee.info.module is not context.module:
        return []
    inner = callee.info.node
    if isinstance(inner, ast.Lambda):
        return [inner.body]
    returns = within(inner).of(ast.Return)
    own = [n.value for n in returns if context.source.enclosing(n, ast.FunctionDef, ast.AsyncFunctionDef) is inner]
    return [value for value in own if value is not None] if None not in own else []


def _unsliced(node: ast.expr) -> ast.expr:
    """What an expression is, or is a part of."""
    return node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node


def _is_member_shape(context: Context, node: ast.expr) -> bool:
    """Whether an expression is ``x.shape`` of a tensor, or of a tensor or an array of the host.

    A variable is not, which may be made of itself.
    """
    if not isinstance(node, ast.Attribute) or node.attr != "shape":
        return False
    if isinstance(node.value, ast.Attribute) and node.value.attr in _OF_LAYERS:
        owners = options(context.analysis.kind(node.value.value))
        unknown = owners == (UNKNOWN,) and context.imports_chainer and node.value.attr in _OF_LAYERS_ALONE
        if unknown or all(isinstance(k, Inst) and context.analysis.is_link(k) for k in owners):
            return True
    kinds = options(context.analysis.kind(node.value))
    others = (Const, Dct, HostArray, Lst, Scalar, Tup)  # lists, numbers and the like have none
    return any(isinstance(k, Tensor) for k in kinds) and all(isinstance(k, (Tensor, *others)) for k in kinds)


def _names_shape(context: Context, node: ast.Name, sums: bool = True) -> bool:
    """Whether a variable gets shapes only: ``shape = x.shape``, ``y, shape = f(x), x.shape``, ``shape = size(x)``."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if context.kind(node) != UNKNOWN and not isinstance(context.kind(node), (Lst, Tup)):
        return False
    found: list[ast.expr | None] = []
    for name in within(function or context.source.tree).of(ast.Name):
        if name.id != node.id or isinstance(name.ctx, ast.Load):
            continue
        if function is None and context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) is not None:
            continue  # another one
        target, outer = name, context.source.parents[name]
        value = outer.value if isinstance(outer, ast.Assign) else None
        if isinstance(outer, ast.Tuple) and isinstance(statement := context.source.parents[outer], ast.Assign):
            parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
            value = parts[outer.elts.index(target)] if len(parts) == len(outer.elts) else None
        found.append(value)
    return bool(found) and all(v is not None and _gives_shape(context, _unsliced(v), sums) for v in found)


def _gives_shape(context: Context, value: ast.expr, sums: bool) -> bool:
    """Whether a variable that gets a value gets a shape: of a tensor, by a call, or a sum with one (``s + (1,)``)."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Mult)) and sums:
        sides = [_unsliced(side) for side in (value.left, value.right)]
        return any(
            _names_shape(context, side, sums=False)
            if isinstance(side, ast.Name)
            else isinstance(side, (ast.Attribute, ast.Call)) and is_shape(context, side)
            for side in sides
        )
    return isinstance(value, (ast.Attribute, ast.Call)) and is_shape(context, value)


def _is_kept_shape(context: Context, node: ast.expr) -> bool:
    """Whether an object of a class of this file keeps shapes alone under a name: ``self.shape = x.shape``."""
    if not isinstance(node, ast.Attribute):
        return False
    owners = options(context.analysis.kind(node.value))
    if not all(isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and k.cls.module is context.module for k in owners):
        return False
    stores = [n for n in context.source.of(ast.Attribute) if n.attr == node.attr and not isinstance(n.ctx, ast.Load)]
    statements = [context.source.parents[store] for store in stores]
    return bool(stores) and all(
        isinstance(statement, ast.Assign) and _is_member_shape(context, _unsliced(statement.value))
        for statement in statements
    )
