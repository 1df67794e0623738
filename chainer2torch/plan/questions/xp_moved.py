"""Whether all that an array module makes is moved to a device at once, as converters of sequences do.

``concat = xp.concatenate(batch); concat = to_device(device, concat)``: whether ``concat`` is an array of the host or a
tensor, the same comes out.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Method
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_JOINING = frozenset({"array", "asarray", "concatenate", "hstack", "stack", "vstack"})
_MOVING = frozenset({"chainer.dataset.to_device", "chainer.backends.cuda.to_gpu"})


def only_moved(context: Context, module: ast.expr) -> bool:
    """Whether an array module is asked to join arrays here, and what it gives goes to a device."""
    parents = context.source.parents
    part = parents.get(module)
    call = parents.get(part) if isinstance(part, ast.Attribute) and part.attr in _JOINING else None
    return isinstance(call, ast.Call) and call.func is part and _goes_to_device(context, call)


def _goes_to_device(context: Context, made: ast.Call) -> bool:
    parent = context.source.parents.get(made)
    if not isinstance(parent, ast.Assign):
        return _is_moved(context, made)
    (target, *others) = parent.targets
    scope = context.scopes.get(target) if isinstance(target, ast.Name) else None
    if others or not isinstance(target, ast.Name) or not isinstance(scope, ast.FunctionDef):
        return False
    names = [node for node in nodes_of(scope) if isinstance(node, ast.Name) and node.id == target.id]
    loads = [node for node in names if isinstance(node.ctx, ast.Load)]
    return len(names) == len(loads) + 1 and all(_is_moved(context, node) for node in loads)


def _is_moved(context: Context, value: ast.expr) -> bool:
    """Whether a value is an argument of ``to_device``, ``to_gpu`` or a device's ``send``."""
    call = context.source.parents.get(value)
    if not isinstance(call, ast.Call) or value not in call.args:
        return False
    if context.reference(call.func) in _MOVING:
        return True
    kind = context.kind(call.func)
    return (
        isinstance(kind, Method)
        and kind.name == "send"
        and isinstance(kind.receiver, Inst)
        and context.analysis.derives(kind.receiver.cls, "chainer.backend.Device")
    )


__all__ = ["only_moved"]
