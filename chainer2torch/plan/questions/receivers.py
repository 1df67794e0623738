"""What the surroundings tell of a value whose kind is not known."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref
from chainer2torch.analysis.models.xp_modules import EITHER, XP
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_OF_ARRAYS_ALONE = frozenset({"argmax", "argmin", "argsort", "astype", "dtype", "max", "min", "ndim", "ravel", "shape"})


def seen_before(context: Context, node: ast.Attribute) -> bool:
    """Whether an earlier run decided on this receiver, which saw more of what it is, and left no marker here."""
    return context.migrated and not context.marked_before(node)


def among_tensors(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind stands where tensors are likely.

    That is in a method of a link, in a function with an array module, or beside a dtype of torch.
    """
    given = (*node.args, *(k.value for k in node.keywords)) if isinstance(node, ast.Call) else ()
    if any(isinstance(k, Inst) and k.cls == "torch.dtype" for k in map(context.analysis.kind, given)):
        return True
    if any(isinstance(n, ast.Attribute) and n.attr == "xp" for part in given for n in nodes_of(part)):
        return True  # `astype(model.xp.float32)`
    cls = context.enclosing_class(node)
    if cls is not None and context.analysis.derives(cls, "chainer.Link"):
        return True
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if function is not None and isinstance(node, ast.Attribute) and _is_given_to_functions(context, node, function):
        return True
    return function is not None and any(
        isinstance(n, ast.Name) and context.analysis.kind(n) in (XP, EITHER) for n in nodes_of(function)
    )


def is_asked_like_array(context: Context, node: ast.Attribute) -> bool:
    """Whether a function asks a name that it copies, or the copy, for what arrays alone have: ``x.argmax()``."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    call = context.source.parents.get(node)
    if node.attr != "copy" or function is None or not isinstance(node.value, ast.Name):
        return False
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return False
    statement = context.source.parents.get(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {node.value.id, *(target.id for target in targets if isinstance(target, ast.Name))}
    asked = (n for n in nodes_of(function) if isinstance(n, ast.Attribute) and n.attr in _OF_ARRAYS_ALONE)
    return any(isinstance(n.value, ast.Name) and n.value.id in names for n in asked)


def _is_given_to_functions(context: Context, node: ast.Attribute, function: ast.AST) -> bool:
    """Whether functions of Chainer's are given the owner of a member, or what operators make of it."""
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    calls = [n for n in nodes_of(function) if isinstance(n, ast.Call)] if owner else []
    for call in calls:
        kind = context.analysis.kind(call.func)
        if not isinstance(kind, Ref) or not kind.name.startswith("chainer.functions."):
            continue
        parts: list[ast.expr] = list(call.args)
        while parts:
            part = parts.pop()
            if isinstance(part, ast.BinOp):
                parts += [part.left, part.right]
            elif isinstance(part, ast.Name) and part.id == owner:
                return True
    return False
