"""Objects that a library of NumPy's made: ``PCA(2).fit(x.array)``, ``env.step(y.array)``, ``table['loss'] = x.array``.

They are known by where they come from: a call of the library, or of such an object, in the same function, or in a
method that keeps it as an attribute.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Method, Ref, options
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching, unpacked
from chainer2torch.plan.parts.host_values import takes_host_arrays, to_host_if_array

_DEPTH = 4
# what takes objects of any kind, and gives them back as they were
_KEEPING = frozenset({"cPickle", "joblib", "pickle"})


def is_method_of_library(context: Context, call: ast.Call, callee: Kind) -> bool:
    """Whether a method of such an object is called."""
    if not isinstance(call.func, ast.Attribute) or context.migrated:
        return False
    if all(isinstance(k, Method) and _is_class(k.receiver) for k in options(callee)):
        return True
    return callee == UNKNOWN and _is_of_library(context, call.func.value, 0)


def into_object(context: Context, decisions: Decisions, target: ast.Subscript, value: ast.expr) -> None:
    """``file['name'][:] = x.array``"""
    if not context.migrated and _is_of_library(context, target.value, 0):
        to_host_if_array(context, decisions, value)


def _is_class(kind: Kind) -> bool:
    return isinstance(kind, Inst) and isinstance(kind.cls, str) and _is_library(kind.cls)


def _is_library(name: str) -> bool:
    return takes_host_arrays(name) and name.partition(".")[0] not in _KEEPING


def _is_of_library(context: Context, node: ast.expr, depth: int) -> bool:
    """Whether a library has made a value, or holds it; nothing else may have given it."""
    kind = context.kind(node)
    if all(_is_class(one) for one in options(kind)):
        return True
    if kind != UNKNOWN or depth > _DEPTH:
        return False
    if isinstance(node, ast.Call):
        callee = context.kind(node.func)
        if isinstance(callee, Ref):
            return _is_library(callee.name)
        return isinstance(node.func, ast.Attribute) and _is_of_library(context, node.func.value, depth + 1)
    if isinstance(node, ast.Subscript):
        return _is_of_library(context, node.value, depth + 1)
    if isinstance(node, ast.Attribute):
        made = _kept(context, node)
        return all(_is_of_library(context, one, depth + 1) for one in made or [node.value])
    if not isinstance(node, ast.Name):
        return False
    found = [*reaching(context, node), *(value for value, _ in unpacked(context, node, None)), *_opened(context, node)]
    made = [one for one in found if one in context.source.parents]
    return bool(made) and all(_is_of_library(context, one, depth + 1) for one in made)


def _kept(context: Context, node: ast.Attribute) -> list[ast.expr]:
    """What the methods of a class give an attribute of their object."""
    cls = context.enclosing_class(node)
    if cls is None or not isinstance(node.value, ast.Name) or node.value.id != "self":
        return []
    text = ast.unparse(node)
    return [
        statement.value
        for statement in within(cls.node).of(ast.Assign)
        if any(isinstance(target, ast.Attribute) and ast.unparse(target) == text for target in statement.targets)
    ]


def _opened(context: Context, node: ast.Name) -> list[ast.expr]:
    """``with h5py.File(path) as node:`` around it."""
    return [
        item.context_expr
        for around in context.source.ancestors(node)
        for item in (around.items if isinstance(around, ast.With) else ())
        if isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == node.id
    ]


__all__ = ["into_object", "is_method_of_library"]
