"""How a host array becomes a tensor, where the two meet."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import Func, Ref
from chainer2torch.analysis.source import nodes_of

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

_REVERSING = frozenset({"numpy.flip", "numpy.fliplr", "numpy.flipud", "numpy.rot90"})
_DEPTH = 3  # how many names and calls are followed


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
        items = [item for value in _assigned(plan, node, None) for item in (
            [value.elt] if isinstance(value, ast.ListComp) else getattr(value, "elts", []))]
    copied = any(_runs_backwards(plan, item) for item in items)
    return f"[torch.as_tensor(item{'.copy()' if copied else ''}) for item in value]"


def _runs_backwards(plan: Plan, node: ast.expr, depth: int = 0, function: ast.AST | None = None) -> bool:
    """Whether an array may be a view with a negative stride, as far as its function and those it calls show."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(p, ast.Slice) and isinstance(p.step, ast.UnaryOp) for p in parts) or \
            _runs_backwards(plan, node.value, depth, function)
    if depth >= _DEPTH:
        return False
    if isinstance(node, ast.Call):
        callee = plan.analysis.kind(node.func)
        if isinstance(callee, Func):
            inner = callee.info.node
            return any(_runs_backwards(plan, n.value, depth + 1, inner) for n in nodes_of(inner)
                       if isinstance(n, ast.Return) and n.value is not None)
        return isinstance(callee, Ref) and callee.name in _REVERSING
    return any(_runs_backwards(plan, value, depth + 1, function) for value in _assigned(plan, node, function))


def _assigned(plan: Plan, node: ast.expr, function: ast.AST | None) -> list[ast.expr]:
    """What is assigned to a name in its function (by default: where it stands), or outside of functions."""
    if not isinstance(node, ast.Name):
        return []
    function = function or plan.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = nodes_of(function) if function is not None else [
        n for n in plan.source.of(ast.Assign) if plan.source.enclosing(n, ast.FunctionDef) is None]
    return [n.value for n in nodes if isinstance(n, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)]
