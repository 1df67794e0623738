"""Inputs that ``backward`` of a Function gets as None, because ``forward`` keeps others only: ``retain_inputs(())``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_BACKWARD = frozenset({"backward", "backward_cpu", "backward_gpu"})
_FUNCTION = "chainer.Function"
_ALL = range(99)  # of the inputs of a Function


def gradients_beside(context: Context, node: ast.expr) -> str:
    """The parameter with the gradients, where the first input, or the one that is asked for, may be None; else "".

    ``node`` is ``x`` or ``x[1]`` in ``backward(self, x, gy)``. Chainer's array module of None is NumPy, so that such a
    program runs on the host; a tensor beside it is what says where the computation takes place.
    """
    inputs, index = node, 0
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
        inputs, index = node.value, node.slice.value
    method, cls = context.source.enclosing(node, ast.FunctionDef), context.enclosing_class(node)
    if not isinstance(inputs, ast.Name) or not isinstance(method, ast.FunctionDef) or cls is None:
        return ""
    names = [one.arg for one in method.args.args]
    if method.name not in _BACKWARD or len(names) < 3 or names[1] != inputs.id:
        return ""
    if not context.analysis.derives(cls, _FUNCTION) or index in _kept(context, cls):
        return ""
    return names[2]


def _kept(context: Context, cls: ClassInfo) -> set[int]:
    """The inputs that every ``forward`` keeps; all, where none says which."""
    calls = [
        call
        for base in context.analysis.mro(cls)
        if isinstance(base, ClassInfo)
        for method in base.methods.values()
        for call in nodes_of(method.node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "retain_inputs"
    ]
    kept = [set(_indices(call)) for call in calls]
    return set.intersection(*kept) if kept else set(_ALL)


def _indices(call: ast.Call) -> list[int]:
    """The inputs that a call keeps; all that there may be, where they are computed."""
    given = call.args[0] if call.args else None
    if not isinstance(given, (ast.Tuple, ast.List)):
        return [*_ALL]
    found = [item.value for item in given.elts if isinstance(item, ast.Constant) and isinstance(item.value, int)]
    return found if len(found) == len(given.elts) else [*_ALL]
