"""How a host array becomes a tensor, where the two meet."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import nodes_of

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

_REVERSING = frozenset({"numpy.flip", "numpy.fliplr", "numpy.flipud", "numpy.rot90"})


def tensor_of(plan: Plan, node: ast.expr) -> str:
    """The template that makes a tensor of a host array; PyTorch takes none that runs backwards, so that is copied."""
    return "torch.as_tensor(value.copy())" if _runs_backwards(plan, node) else "torch.as_tensor(value)"


def tensors_of(plan: Plan, node: ast.expr) -> str:
    """The same for a list of arrays."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        items: list[ast.expr] = [node.elt]
    elif isinstance(node, (ast.List, ast.Tuple)):
        items = node.elts
    else:
        items = [item for value in _assigned(plan, node) for item in (
            [value.elt] if isinstance(value, ast.ListComp) else getattr(value, "elts", []))]
    copied = any(_runs_backwards(plan, item) for item in items)
    return f"[torch.as_tensor(item{'.copy()' if copied else ''}) for item in value]"


def _runs_backwards(plan: Plan, node: ast.expr, depth: int = 0) -> bool:
    """Whether an array may be a view with a negative stride, as far as its function shows."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(p, ast.Slice) and isinstance(p.step, ast.UnaryOp) for p in parts) or \
            _runs_backwards(plan, node.value, depth)
    if isinstance(node, ast.Call):
        callee = plan.analysis.kind(node.func)
        return isinstance(callee, Ref) and callee.name in _REVERSING
    return depth < 3 and any(_runs_backwards(plan, value, depth + 1) for value in _assigned(plan, node))


def _assigned(plan: Plan, node: ast.expr) -> list[ast.expr]:
    """What the function of a name assigns to it."""
    if not isinstance(node, ast.Name):
        return []
    function = plan.source.enclosing(node, ast.FunctionDef)
    return [] if function is None else [
        n.value for n in nodes_of(function) if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)]
