"""``y = x; y += 3`` of a parameter: Chainer changes an array that the caller passed, and leaves a Variable as it is.

Both are tensors after the migration, so only the calls can tell. Parts of an array are views: ``y = x[0]; y += 3``.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Lst, Tensor, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import assigned, reaching

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_VIEWS = frozenset({"ravel", "reshape", "squeeze", "swapaxes", "transpose", "view"})
_MOST = 4  # names that stand for the same value, one after the other


def may_be_of_caller(context: Context, node: ast.AugAssign) -> bool:
    """Whether what changes may be an array that a caller passed, or a Variable that one passed: nothing says which."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is None or isinstance(info.node, ast.Lambda) or _is_changed_before(context, node, info):
        return False
    value, held = options(context.analysis.kind(node.value)), _items(context.analysis.kind(node))
    if all(isinstance(k, Tensor) and not k.array and not k.either for k in value):
        return False  # what meets a Variable becomes one
    if _are_both(value) and all(k == UNKNOWN or _is_array(k) for k in held) and _is_plain(node.target):
        return True
    both = _are_both(held)
    if not isinstance(node.target, ast.Name):
        return both and isinstance(node.target, ast.Attribute)
    bound = node.target.id in info.signature.names or bool(assigned(context, node.target, info.node))
    if both and (not bound or _is_bound_to_array(context, node.target)):
        return True  # a name of the function around, or of what something else holds
    origin = _origin(context, node.target, info, _MOST)
    return origin is not None and _may_be_both(info, origin)


def was_variable(context: Context, node: ast.AugAssign) -> bool:
    """Whether the last statement of the function that set an attribute before gave it a Variable."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    if function is None or not isinstance(node.target, ast.Attribute):
        return False
    text, around = ast.unparse(node.target), {id(place) for place in context.source.ancestors(node)}
    before = [
        n
        for n in nodes_of(function)
        if isinstance(n, ast.Assign) and n.lineno < node.lineno and any(ast.unparse(t) == text for t in n.targets)
    ]
    last = max(before, key=lambda n: n.lineno, default=None)
    if last is None or not any(id(other) in around or other is node for other in context.source.block(last)):
        return False
    kinds = options(context.analysis.kind(last.value))
    return all(isinstance(k, Tensor) and not k.array and not k.either for k in kinds)


def _is_plain(target: ast.expr) -> bool:
    return isinstance(target, (ast.Name, ast.Attribute))


def _is_bound_to_array(context: Context, node: ast.expr) -> bool:
    """Whether a name stands for an array that something else holds, on one of the ways."""
    values = [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
    if isinstance(node, ast.Name):
        values = [value for value in reaching(context, node) if value.lineno <= node.lineno]
    return any(
        isinstance(value, ast.IfExp)
        and _is_bound_to_array(context, value)
        or isinstance(_viewed(value), (ast.Name, ast.Attribute))
        and all(_is_array(k) for k in options(context.analysis.kind(value)))
        for value in values
    )


def _origin(context: Context, node: ast.expr, info: FuncInfo, depth: int) -> str | None:
    """The parameter that an expression may stand for, or of which it may be a view."""
    node = _viewed(node)
    if isinstance(node, ast.IfExp):
        return _origin(context, node.body, info, depth) or _origin(context, node.orelse, info, depth)
    if not isinstance(node, ast.Name) or depth == 0:
        return None
    own = [value for value in reaching(context, node) if value.lineno <= node.lineno]
    found = (_origin(context, value, info, depth - 1) for value in own)
    other = next((name for name in found if name is not None), None)
    if other is not None:
        return other
    walked = _walked(context, node, info)
    if walked is not None:
        return _origin(context, walked, info, depth - 1)
    if node.id not in info.signature.names or _is_bound_anew(context, node, info):
        return None
    return None if info.cls is not None and not info.is_static and node.id == info.signature.names[0] else node.id


def _viewed(node: ast.expr) -> ast.expr:
    """The array of which an expression is a view."""
    while True:
        if isinstance(node, ast.Subscript) or isinstance(node, ast.Attribute) and node.attr == "T":
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = node.func.value
        else:
            return node


def _walked(context: Context, node: ast.Name, info: FuncInfo) -> ast.expr | None:
    """What a loop walks over that binds a name: ``for y in xs``."""
    for loop in context.source.ancestors(node):
        if loop is info.node:
            break
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id == node.id:
            return loop.iter
    return None


def _is_bound_anew(context: Context, node: ast.Name, info: FuncInfo) -> bool:
    """Whether a statement that always runs before has bound the name of a parameter to something else."""
    around = {id(place) for place in context.source.ancestors(node)}
    return any(
        value.lineno < node.lineno
        and any(id(other) in around for other in context.source.block(context.source.parents[value]))
        for value in assigned(context, node, info.node)
    )


def _is_changed_before(context: Context, node: ast.AugAssign, info: FuncInfo) -> bool:
    """Whether an earlier operator of the same name has the question already."""
    return any(
        isinstance(other, ast.AugAssign)
        and (other.lineno, other.col_offset) < (node.lineno, node.col_offset)
        and ast.unparse(other.target) == ast.unparse(node.target)
        for other in nodes_of(info.node)
    )


def _may_be_both(info: FuncInfo, name: str) -> bool:
    """Whether calls that are seen give a parameter arrays and Variables, or such are not seen."""
    fed = info.params.get(name)
    if fed is None or fed == UNKNOWN:
        return True
    return _are_both(_items(fed))


def _are_both(kinds: tuple[Kind, ...]) -> bool:
    """Whether values are arrays and Variables."""
    variables = [k for k in kinds if isinstance(k, Tensor) and not k.array]
    return any(k.either for k in variables) or bool(variables) and any(_is_array(k) for k in kinds)


def _items(kind: Kind) -> tuple[Kind, ...]:
    return tuple(item for one in options(kind) for item in options(one.element if isinstance(one, Lst) else one))


def _is_array(kind: Kind) -> bool:
    return isinstance(kind, HostArray) or isinstance(kind, Tensor) and kind.array


__all__ = ["may_be_of_caller", "was_variable"]
