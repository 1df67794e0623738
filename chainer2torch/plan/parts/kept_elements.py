"""``old = w[i, j]`` before ``w[i, j] = 0``, or ``old += 1``: NumPy gives a number of its own, PyTorch a view."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Tensor, options, scalar_type
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.host_values import is_held_by_anything, wrap
from chainer2torch.plan.questions.rows import PARAMETERS
from chainer2torch.plan.questions.walked_parameters import is_walked_parameter

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HELD = frozenset({"array", "data", "grad"})
_OF_ARRAYS = frozenset({"astype", "dtype", "max", "mean", "min", "ndim", "shape", "sum"})
_FILLING = frozenset({"add", "append", "appendleft", "insert", "setdefault"})
_WRITING = frozenset({"fill", "put", "sort"})  # methods of arrays


def kept_element(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    """Copies an element that something keeps while its array may change."""
    if not isinstance(node.ctx, ast.Load) or context.migrated or not context.imports_chainer:
        return
    if not _is_element(context, node) or not is_kept(context, node):
        return
    sure = all(isinstance(k, Tensor) and k.rank == 0 for k in options(context.analysis.kind(node)))
    if _is_changed_by_name(context, node) or _leaves(context, node) or may_change(context, node):
        wrap(context, decisions, node, "value.clone()" if sure else "compat.own_number(value)")


def _is_element(context: Context, node: ast.Subscript) -> bool:
    """Whether it may be an element of an array that is a tensor: an index of numbers, as many as there are axes."""
    kinds, held = options(context.analysis.kind(node)), options(context.analysis.kind(node.value))
    if held != (UNKNOWN,) and not (all(map(_is_array, held)) and any(isinstance(k, Tensor) for k in held)):
        return False
    may_be = kinds == (UNKNOWN,) or all(_is_array(k) and getattr(k, "rank", None) in (0, None) for k in kinds)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if held == (UNKNOWN,) and len(parts) == 1 and not _looks_like_array(context, node):
        return False  # a list or a dictionary, for all that is known
    return may_be and all(_is_number(context, part) for part in parts)


def _looks_like_array(context: Context, node: ast.Subscript) -> bool:
    """Whether the function asks for what arrays alone have, or the value is what Variables hold."""
    root = _root(node)
    if isinstance(root, ast.Call):
        return False  # nobody else has what it gives
    scope = context.source.enclosing(node, *_FUNCTIONS) or context.source.tree
    asked = (n for n in within(scope).of(ast.Attribute) if n.attr in _OF_ARRAYS)
    return is_held_by_anything(context, root) or any(ast.unparse(n.value) == ast.unparse(root) for n in asked)


def _is_array(kind: Kind) -> bool:
    return isinstance(kind, HostArray) or isinstance(kind, Tensor) and kind.array


def _is_number(context: Context, part: ast.expr) -> bool:
    if isinstance(part, ast.UnaryOp):
        part = part.operand
    if isinstance(part, ast.Constant):
        return type(part.value) is int
    if isinstance(part, (ast.Slice, ast.Starred, ast.List, ast.ListComp, ast.Compare)):
        return False
    kind = context.analysis.kind(part)
    return kind == UNKNOWN or scalar_type(kind) == "int" or type(kind).__name__ == "Tup"


def is_kept(context: Context, node: ast.expr) -> bool:
    """Whether a name, an attribute or a container gets it as it is."""
    parent, child = context.source.parents.get(node), node
    while isinstance(parent, (ast.Tuple, ast.List, ast.Dict, ast.IfExp, ast.BoolOp)):
        if isinstance(parent, ast.IfExp) and child is parent.test:
            return False
        parent, child = context.source.parents.get(parent), parent  # type: ignore[assignment]
    if isinstance(parent, ast.Assign):
        alone = child is node and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Subscript)
        # what is put into an array is copied; not so what a container gets
        return not (alone and _holds_numbers(context, parent.targets[0]))
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        return child in parent.args and parent.func.attr in _FILLING
    return isinstance(parent, ast.Return)


def _holds_numbers(context: Context, target: ast.expr) -> bool:
    """Whether a target is an element of an array, or may be."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return not any(type(kind).__name__ in ("Dct", "Lst") for kind in options(context.analysis.kind(target)))


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_parameters(context: Context, root: ast.expr) -> bool:
    """``l.W.data``: an optimizer changes it where nobody sees that."""
    if not isinstance(root, ast.Attribute) or root.attr not in _HELD:
        return False
    owner = root.value
    return isinstance(owner, ast.Attribute) and owner.attr in PARAMETERS or is_walked_parameter(context, owner)


def may_change(context: Context, node: ast.expr) -> bool:
    """Whether the array of an expression is one of a parameter, or written into by the function."""
    root = _root(node)
    return _is_parameters(context, root) or _is_written(context, node, root)


def _leaves(context: Context, node: ast.Subscript) -> bool:
    """Whether an object keeps it, or the caller gets it, of an array that others have, too: that of a parameter."""
    parent, root = context.source.parents.get(node), _root(node)
    function = context.source.enclosing(node, *_FUNCTIONS)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is None or not isinstance(root, ast.Name) or root.id not in info.signature.names:
        return False
    kept = isinstance(parent, ast.Assign) and any(isinstance(target, ast.Attribute) for target in parent.targets)
    return kept or isinstance(parent, ast.Return)


def _is_changed_by_name(context: Context, node: ast.expr) -> bool:
    """``total = y.data[0]``, and ``total += y.data[1]`` behind it, which changes no array."""
    parent = context.source.parents.get(node)
    if not isinstance(parent, ast.Assign):
        return False
    names = {ast.unparse(target) for target in parent.targets if isinstance(target, (ast.Name, ast.Attribute))}
    scope = context.source.enclosing(node, *_FUNCTIONS) or context.source.tree
    return any(ast.unparse(other.target) in names for other in within(scope).of(ast.AugAssign))


def _is_written(context: Context, node: ast.expr, root: ast.expr) -> bool:
    """Whether the function writes into the array."""
    names = {ast.unparse(root)}
    if isinstance(root, ast.Name):
        given = [value for value in map(_root, reaching(context, root)) if isinstance(value, (ast.Attribute, ast.Name))]
        names |= {ast.unparse(value) for value in given}
        if any(_is_parameters(context, value) for value in given):
            return True
    scope = context.source.enclosing(node, *_FUNCTIONS) or context.source.tree
    for other in within(scope).of(ast.Subscript, ast.AugAssign, ast.Attribute):
        written = _written(other)
        if written is not None and ast.unparse(_root(written)) in names and not _binds_number(context, written):
            return True
    return False


def writes(node: ast.AST, array: ast.expr) -> bool:
    """Whether something writes into an array, as it is called there."""
    written = _written(node)
    return written is not None and ast.unparse(_root(written)) == ast.unparse(_root(array))


def _written(node: ast.AST) -> ast.expr | None:
    """The array, or a part of it, that an operator, an index or a method changes."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Subscript):
        return node if not isinstance(node.ctx, ast.Load) else None
    return node.value if isinstance(node, ast.Attribute) and node.attr in _WRITING else None


def _binds_number(context: Context, target: ast.expr) -> bool:
    """``n += 1``: a name that is no array."""
    return isinstance(target, ast.Name) and scalar_type(context.analysis.kind(target)) is not None


__all__ = ["is_kept", "kept_element", "may_change", "writes"]
