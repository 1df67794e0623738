"""Values that are tensors by the time they are written out, though they may have been a number or None before.

``loss_sum = 0`` before a loop that adds a loss in each round, ``x.grad`` behind ``y.backward()``. Where a loop has no
round at all, and where nothing led to ``x``, PyTorch raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Lst, Tensor, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.shapes import returned_here

_MAKERS = frozenset({"chainer.Variable", "chainer.variable.Variable"})
_OWN_FUNCTIONS = ("chainer.Function", "chainer.FunctionNode")
_OF_GRADIENTS = frozenset({"backward", "cleargrad", "cleargrads", "update", "zerograd", "zerograds", "zero_grads"})
_SUMS = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def is_summed(context: Context, node: ast.expr, called: bool = False) -> bool:
    """Whether a value is a sum to which a loop has added tensors, or what numbers make of it.

    So is what a function of the file returns that returns nothing else; one that is ``called`` is not followed further.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, _SUMS):
        sides = (node.left, node.right)
        return any(is_summed(context, one, called) for one in sides) and all(
            scalar_type(context.kind(one)) in ("int", "float")
            or _is_array(context, one)
            or is_summed(context, one, called)
            for one in sides
        )
    if isinstance(node, ast.Call) and not called and isinstance(node.func, ast.Name):
        given = returned_here(context, node)
        return bool(given) and all(is_summed(context, value, called=True) for value in given)
    if not isinstance(node, ast.Name):
        return False
    bindings = _bindings(context, node)
    before = [n for n in bindings if context.source.start(n) < context.source.start(node)]
    statements = [context.source.statement(n) for n in sorted(before, key=context.source.start)]
    unscaled = [statement for statement in statements if not _is_scaled(context, statement)]
    last = unscaled[-1] if unscaled else None
    if isinstance(last, ast.AugAssign):
        return _is_added_to(context, last, node) and all(_is_plain(context, binding) for binding in bindings)
    made = [(binding, context.source.statement(binding)) for binding in bindings]
    values = [m.value for binding, m in made if isinstance(m, ast.Assign) and binding in m.targets]
    if not statements or len(values) != len(bindings) or _is_parameter(context, node):
        return False  # it may be read before, or is a number that a caller gives
    return all(not isinstance(value, ast.Name) and is_summed(context, value, called) for value in values)


def has_gradient(context: Context, node: ast.expr) -> bool:
    """Whether ``x.grad`` of a Variable that the function made stands behind ``y.backward()``.

    Functions of the program's own may give no gradient, and a Variable may be made so that it gets none.
    """
    if not isinstance(node, ast.Attribute) or node.attr != "grad" or not isinstance(node.value, ast.Name):
        return False
    made = reaching(context, node.value)
    if not made or not all(isinstance(v, ast.Call) and context.reference(v.func) in _MAKERS for v in made):
        return False
    if context.analysis.once(_has_own_functions) or any(_may_take_none(v) for v in made if isinstance(v, ast.Call)):
        return False
    calls = [
        n
        for n in nodes_of(_scope(context, node))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _OF_GRADIENTS
    ]
    before = [n for n in calls if context.source.start(n) < context.source.start(node)]
    last = max(before, key=context.source.start, default=None)
    if last is None or not isinstance(last.func, ast.Attribute) or last.func.attr != "backward":
        return False
    return context.source.parents.get(context.source.statement(last)) in list(context.source.ancestors(node))


def _has_own_functions(analysis: Analysis) -> bool:
    return any(analysis.derives(cls, base) for cls in analysis.classes.values() for base in _OWN_FUNCTIONS)


def _may_take_none(made: ast.Call) -> bool:
    """``chainer.Variable(x, requires_grad=False)``."""
    return any(keyword.arg in (None, "requires_grad") for keyword in made.keywords)


def holds_tensors(context: Context, node: ast.expr) -> str | None:
    """The template that makes a list of arrays of a list that holds tensors alone."""
    kind = context.analysis.kind(node)
    if not isinstance(kind, Lst) or not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    items = options(kind.element)
    if not items or not all(isinstance(item, Tensor) for item in items):
        return None
    arrays = all(isinstance(item, Tensor) and item.array for item in items)
    return f"[array{'' if arrays else '.detach()'}.cpu().numpy() for array in value]"


def _scope(context: Context, node: ast.AST) -> ast.AST:
    return context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) or context.source.tree


def _bindings(context: Context, node: ast.Name) -> list[ast.Name]:
    """The places of a scope that bind a name."""
    scope = context.scopes.get(node)
    return [
        n
        for n in nodes_of(scope if scope is not None else context.source.tree)
        if isinstance(n, ast.Name)
        and n.id == node.id
        and not isinstance(n.ctx, ast.Load)
        and context.scopes.get(n) is scope
    ]


def _is_parameter(context: Context, node: ast.Name) -> bool:
    scope = context.scopes.get(node)
    return any(isinstance(n, ast.arg) and n.arg == node.id for n in nodes_of(scope)) if scope is not None else False


def _is_array(context: Context, node: ast.expr) -> bool:
    return all(isinstance(k, Tensor) and k.array for k in options(context.kind(node)))


def _is_plain(context: Context, binding: ast.Name) -> bool:
    """Whether a binding begins a sum with a number, or adds an array to it."""
    statement = context.source.statement(binding)
    if isinstance(statement, ast.AugAssign):
        added = isinstance(statement.op, (ast.Add, ast.Sub)) and _is_array(context, statement.value)
        return added or _is_scaled(context, statement)
    if not isinstance(statement, ast.Assign):
        return False
    values = [value for target in statement.targets for value in _given(target, statement.value, binding)]
    return bool(values) and all(scalar_type(context.kind(value)) in ("int", "float") for value in values)


def _is_scaled(context: Context, statement: ast.stmt) -> bool:
    """``total /= count``: a sum of arrays stays one."""
    return (
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.op, (ast.Div, ast.Mult))
        and scalar_type(context.kind(statement.value)) in ("int", "float")
    )


def _given(target: ast.expr, value: ast.expr, name: ast.Name) -> Iterator[ast.expr]:
    """What an assignment gives to a name: ``a = b = 0``, ``a, b = 0, 0``."""
    if target is name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts):
            yield from _given(one, other, name)


def _is_added_to(context: Context, added: ast.AugAssign, node: ast.Name) -> bool:
    """Whether an addition, mostly in every round of a loop, comes before a name is read in any case."""
    parents, around = context.source.parents, list(context.source.ancestors(node))
    inner: ast.AST = added
    while (outer := parents.get(inner)) is not None and outer not in around:
        if not isinstance(outer, (ast.For, ast.While, ast.With)) or inner not in outer.body:
            return False
        inner = outer
    blocks = [getattr(outer, field, None) for field in ("body", "orelse", "finalbody")]
    beside = any(isinstance(b, list) and inner in b and any(s in around for s in b) for b in blocks)
    return beside


__all__ = ["has_gradient", "holds_tensors", "is_summed"]
