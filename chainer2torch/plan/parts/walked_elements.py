"""``for v in y.data: v += 1``, ``w0, w1 = l.b.data``: NumPy gives numbers of their own, PyTorch views."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.kept_elements import is_kept, may_change, writes

_GIVE_ELEMENTS = frozenset(f"builtins.{name}" for name in ("list", "max", "min", "sorted", "tuple"))


def walked_elements(context: Context, decisions: Decisions) -> None:
    """Walks over a copy of an array of one axis, where something keeps or changes an element."""
    if context.migrated or not context.imports_chainer:
        return
    for node in context.source.of(ast.For, ast.Assign, ast.Call, ast.ListComp):
        for array in _arrays(context, node):
            kinds = options(context.analysis.kind(array))
            if all(isinstance(k, Tensor) and k.array and k.rank == 1 for k in kinds):
                wrap(context, decisions, array, "value.clone()")


def _arrays(context: Context, node: ast.AST) -> list[ast.expr]:
    """The arrays whose elements are kept, or changed by their name."""
    if isinstance(node, ast.For):
        pairs = _walked(context, node.target, node.iter)
        return [array for name, array in pairs if _needs_own(context, node, name, array)]
    if isinstance(node, ast.Assign):
        apart = any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        found = [node.value] if apart and not isinstance(node.value, (ast.Tuple, ast.List)) else []
    elif isinstance(node, ast.ListComp):
        pairs = [pair for one in node.generators for pair in _walked(context, one.target, one.iter)]
        given = node.elt.id if isinstance(node.elt, ast.Name) else None
        found = [array for name, array in pairs if name == given and is_kept(context, node)]
    else:
        assert isinstance(node, ast.Call)
        called = context.analysis.kind(node.func)
        gives = isinstance(called, Ref) and called.name in _GIVE_ELEMENTS
        found = node.args if gives and len(node.args) == 1 and is_kept(context, node) else []
    return [array for array in found if may_change(context, array)]


def _walked(context: Context, target: ast.expr, items: ast.expr) -> list[tuple[str, ast.expr]]:
    """Names of a loop with what they go through, also by ``enumerate`` and ``zip``."""
    called = context.analysis.kind(items.func) if isinstance(items, ast.Call) else None
    if isinstance(items, ast.Call) and isinstance(target, ast.Tuple):
        if called == Ref("builtins.enumerate") and items.args:
            return _walked(context, target.elts[-1], items.args[0])
        if called == Ref("builtins.zip"):
            pairs = zip(target.elts, items.args)
            return [found for part, array in pairs for found in _walked(context, part, array)]
    return [(target.id, items)] if isinstance(target, ast.Name) else []


def _needs_own(context: Context, loop: ast.For, name: str, array: ast.expr) -> bool:
    """Whether the body changes the name, or keeps it while the array may change; not where it writes into the array."""
    body = [node for statement in loop.body for node in nodes_of(statement)]
    if any(writes(node, array) for node in body):
        return False  # what a walk meets then is what was written
    if any(isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name for n in body):
        return True
    reads = [n for n in body if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    return any(is_kept(context, read) for read in reads) and may_change(context, array)


__all__ = ["walked_elements"]
