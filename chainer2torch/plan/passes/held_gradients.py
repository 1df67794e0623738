"""Gradients that a name holds while another backward pass adds to them: ``g = p.grad``, ``loss.backward()``, ``g``.

Chainer's second pass makes a new array of the sum, so what is held stays. PyTorch adds in place.
"""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.kinds import UNKNOWN, Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_CLEARING = frozenset({"cleargrad", "cleargrads", "zero_grad", "zerograd", "zerograds"})
_COLLECTING = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)
_FILLING = frozenset({"fill"})


@dataclasses.dataclass(frozen=True, eq=False)
class _Held:
    """A gradient that is read, the name that holds it, and the statement that gives it to the name."""

    gradient: ast.Attribute
    name: str
    statement: ast.AST


def run(context: Context) -> Decisions:
    """Copies such gradients."""
    decisions = Decisions(context)
    if not context.imports_chainer or context.migrated:
        return decisions
    for gradient in context.source.of(ast.Attribute):
        if gradient.attr != "grad" or not isinstance(gradient.ctx, ast.Load) or not _is_tensor(context, gradient):
            continue
        held = _held(context, gradient)
        scope = context.source.enclosing(gradient, *_FUNCTIONS) or context.source.tree
        if held is not None and _is_added_to(context, scope, held):
            wrap(context, decisions, gradient, "value.clone()")
    return decisions


def _is_tensor(context: Context, gradient: ast.Attribute) -> bool:
    """Whether it is the gradient of a Variable, as far as one can tell; ``chainer.grad`` is a function."""
    kinds = options(context.kind(gradient.value))
    return all(isinstance(k, Tensor) or k == UNKNOWN for k in kinds) and not isinstance(context.kind(gradient), Ref)


def _held(context: Context, gradient: ast.Attribute) -> _Held | None:
    """``g = p.grad``, ``gs = [p.grad for p in ps]``, ``gs.append(p.grad)``."""
    node: ast.AST = gradient
    parent = context.source.parents[node]
    while isinstance(parent, _COLLECTING) and node in (
        *getattr(parent, "elts", ()),
        *getattr(parent, "values", ()),
        getattr(parent, "elt", getattr(parent, "value", None)),
    ):
        node, parent = parent, context.source.parents[parent]
    if isinstance(parent, ast.Assign) and parent.value is node and len(parent.targets) == 1:
        target = parent.targets[0]
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "append":
        target = parent.func.value
    else:
        return None
    return _Held(gradient, target.id, parent) if isinstance(target, ast.Name) else None


def _is_added_to(context: Context, scope: ast.AST, held: _Held) -> bool:
    """Whether a backward pass follows that nothing is cleared for, and the name is read behind it."""
    calls = [n for n in nodes_of(scope) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    start, loops = context.source.start(held.gradient), _loops(context, held.gradient)
    cleared = [context.source.start(c) for c in calls if c.func.attr in _CLEARING]  # type: ignore[attr-defined]
    loads = [
        n
        for n in nodes_of(scope)
        if isinstance(n, ast.Name) and n.id == held.name and not any(a is held.statement for a in _around(context, n))
    ]
    if any(_is_changed(context, n) for n in loads):
        return False
    for call in calls:
        if call.func.attr != "backward":  # type: ignore[attr-defined]
            continue
        place, shared = context.source.start(call), [loop for loop in _loops(context, call) if loop in loops]
        if place < start and not shared:
            continue
        again = place < start
        between = [
            c
            for c in cleared
            if (start < c < place if not again else _is_in(context, c, shared[0]) and (c > start or c < place))
        ]
        read = any(isinstance(n.ctx, ast.Load) and (again or context.source.start(n) > place) for n in loads)
        if read and not between:
            return True
    return False


def _loops(context: Context, node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for outer in context.source.ancestors(node):
        if isinstance(outer, _FUNCTIONS):
            break
        found += [outer] if isinstance(outer, _LOOPS) else []
    return found


def _is_in(context: Context, place: int, loop: ast.AST) -> bool:
    start, end = context.source.span(loop)
    return start <= place < end


def _around(context: Context, node: ast.AST) -> list[ast.AST]:
    return [*context.source.ancestors(node)]


def _is_changed(context: Context, name: ast.Name) -> bool:
    """``g *= 2``, ``g[...] = 0``, ``g.fill(0)``: through the name the gradient itself is written."""
    parent = context.source.parents[name]
    if isinstance(parent, ast.AugAssign) and parent.target is name:
        return True
    if isinstance(parent, ast.Subscript) and parent.value is name:
        return not isinstance(parent.ctx, ast.Load)
    return isinstance(parent, ast.Attribute) and parent.attr in _FILLING


__all__ = ["run"]
