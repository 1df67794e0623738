"""What is written of keys, of numbers among other values, and of objects whose text shows what they hold."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Kind, Perhaps, Tensor, options
from chainer2torch.analysis.models import field_classes, sent
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.written_kinds import holds_kind, holds_shapes, may_hold_tensors

_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})
_WRITING = ("__repr__", "__str__")


def is_hashed(display: ast.expr, part: ast.expr) -> bool:
    """Whether a part of a display is a key or a member of a set: one value, and no array."""
    if isinstance(display, (ast.Dict, ast.DictComp)):
        return part is display.key if isinstance(display, ast.DictComp) else part in display.keys
    return isinstance(display, (ast.Set, ast.SetComp))


def number_as_text(context: Context, decisions: Decisions, node: ast.expr) -> None:
    """An element of an array, which is written as the number that it is, or a value that is one at times."""
    kinds = options(context.analysis.kind(node))
    alone = all(isinstance(one, Tensor) and one.rank == 0 for one in kinds)
    whole = alone and all(isinstance(one, Tensor) and one.dtype in _WHOLE for one in kinds)
    template = "value.item()" if whole else "value.cpu().numpy()[()]" if alone else "compat.shown(value)"
    wrap(context, decisions, node, template)


def shows_fields(context: Context, kind: Kind) -> bool:
    """Whether it is or holds an object whose text is written for it, with a tensor or a shape in one of its fields.

    So is an error's, of its arguments; it may also be caught without a name of its class.
    """
    return holds_kind(kind, lambda one: _shows(context, one))


def _shows(context: Context, one: Kind) -> bool:
    if isinstance(one, Perhaps):
        return any(isinstance(k, Inst) and _is_error(context, k.cls) and _shows(context, k) for k in options(one.known))
    return isinstance(one, Inst) and _shows_tensor(context, one.cls)


def _is_error(context: Context, cls: ClassInfo | str) -> bool:
    return isinstance(cls, ClassInfo) and sent.is_error(context.analysis, cls)


def _shows_tensor(context: Context, cls: ClassInfo | str) -> bool:
    if not isinstance(cls, ClassInfo):
        return False
    classes = [one for one in context.analysis.mro(cls) if isinstance(one, ClassInfo)]
    if any(name in one.methods for one in classes for name in _WRITING):
        return False
    held = [kind for one in classes for kind in one.attrs.values()]
    if sent.is_error(context.analysis, cls):
        held = [one.attrs["args"] for one in classes if "args" in one.attrs]
    elif not field_classes.fields(context.analysis, cls):
        return False
    return any(
        holds_kind(k, lambda one: isinstance(one, Tensor)) or holds_shapes(k) or may_hold_tensors(k) for k in held
    )


__all__ = ["is_hashed", "number_as_text", "shows_fields"]
