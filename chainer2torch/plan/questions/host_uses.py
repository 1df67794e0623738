"""Values of unknown kind that their function uses as arrays of NumPy: CuPy's would raise there.

    out = np.empty((C, height, width), dtype=img.dtype)       turn = np.array([[c, -s], [s, c]], dtype=uv.dtype)
    out[:, top:bottom] = img                                  uv = uv @ turn

NumPy refuses the dtype of a tensor, so this says the same as before of an array, and raises of a tensor. Where tensors
are near, in the function or around a call of it, nothing is said: a CPU's arrays are tensors, too, and they would meet.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Perhaps, Ref, Tensor, options
from chainer2torch.analysis.models.xp_modules import EITHER, XP
from chainer2torch.analysis.source import Source, nodes_of, within
from chainer2torch.plan.context import Context

_ABOUT = frozenset({"dtype", "ndim", "shape", "size"})
_OF_TENSORS = ("chainer.Link", "chainer.Function", "chainer.FunctionNode")
_MAKERS = frozenset({"array", "empty", "full", "ones", "zeros"})


def dtype_of_host(context: Context, node: ast.expr) -> bool:
    """Whether ``img.dtype`` says of what dtype an array of NumPy is made that meets ``img``, or parts of it."""
    call = context.source.parents.get(node)
    while isinstance(call, ast.keyword):
        call = context.source.parents.get(call)
    value = node.value if isinstance(node, ast.Attribute) else None
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(call, ast.Call) or not isinstance(value, ast.Name) or function is None:
        return False
    if not isinstance(function, ast.FunctionDef) or function.name in context.analysis.once(_near_tensors):
        return False
    callee = context.analysis.kind(call.func)
    module, _, name = callee.name.rpartition(".") if isinstance(callee, Ref) else ("", "", "")
    if module != "numpy" or name not in _MAKERS or not _may_be_array(context.analysis.kind(value)):
        return False
    if _is_beside_array(context, function, value.id):
        return True
    if name == "array":
        return any(_takes(context, value.id, item) for item in call.args[:1])
    made = context.source.parents.get(call)
    targets = {t.id for t in made.targets if isinstance(t, ast.Name)} if isinstance(made, ast.Assign) else set()
    parts = {value.id} | {
        target.id
        for statement in within(function).of(ast.Assign)
        if isinstance(statement, ast.Assign) and _is_part(statement.value, value.id)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    return any(
        isinstance(statement, ast.Assign)
        and any(_is_item(target, targets) for target in statement.targets)
        and any(_takes(context, part, statement.value) for part in parts)
        for statement in within(function).of(ast.Assign)
    )


def _near_tensors(analysis: Analysis) -> frozenset[str]:
    """The functions that have tensors or array modules in them, or are called where such are, by their names.

    A formula for the CPU in a function of one's own (``if xp is numpy: y = formula(x, v)``) gets tensors there.
    """
    found: set[str] = set()
    for module in analysis.project.modules.values():
        for function in module.source.of(ast.FunctionDef, ast.AsyncFunctionDef):
            if _has_tensors(analysis, module.source, function):
                calls = within(function).of(ast.Call)
                found |= {function.name} | {ast.unparse(call.func).rpartition(".")[2] for call in calls}
    return frozenset(found)


def _has_tensors(analysis: Analysis, source: Source, function: ast.AST) -> bool:
    cls = source.enclosing(function, ast.ClassDef)
    info = next((c for c in analysis.classes.values() if c.node is cls), None) if cls is not None else None
    if info is not None and any(analysis.derives(info, base) for base in _OF_TENSORS):
        return True
    kinds = (kind for name in within(function).of(ast.Name) for kind in options(analysis.kind(name)))
    return any(
        isinstance(kind, Tensor)
        or kind in (XP, EITHER)
        or isinstance(kind, Perhaps)
        and any(isinstance(k, Tensor) for k in options(kind.known))
        for kind in kinds
    )


def _is_beside_array(context: Context, function: ast.AST, name: str) -> bool:
    """``uv @ rotation``, the second of them being an array of NumPy."""
    return any(
        isinstance(one, ast.Name)
        and one.id == name
        and all(isinstance(k, HostArray) for k in options(context.analysis.kind(other)))
        for node in within(function).of(ast.BinOp)
        if isinstance(node, ast.BinOp)
        for one, other in ((node.left, node.right), (node.right, node.left))
    )


def _may_be_array(kind: Kind) -> bool:
    """Whether nobody knows a value, or it is an array of NumPy on every way that is known."""
    if isinstance(kind, Perhaps):
        return all(isinstance(k, HostArray) for k in options(kind.known))
    return kind == UNKNOWN


def _is_part(node: ast.expr, name: str) -> bool:
    """``image[:, rows]`` of a name."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name


def _is_item(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names


def _takes(context: Context, name: str, value: ast.expr) -> bool:
    """Whether a value holds what a name stands for, and not only what is known about it: ``img.shape``."""
    parents = context.source.parents
    held = (n for n in nodes_of(value) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(above := parents[n], ast.Attribute) or above.attr not in _ABOUT for n in held)


__all__ = ["dtype_of_host"]
