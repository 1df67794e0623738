"""Members that a format asks its values for: ``'{0.shape}'.format(h)``, ``'{model.loss}'.format(model=model)``."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.kinds import Inst, Kind, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.text_fields import looked_into
from chainer2torch.plan.parts.written_kinds import holds_kind, holds_shapes, may_hold_tensors

_OF_BOTH = frozenset({".dtype", ".ndim", ".shape", ".size"})  # what an array has that is made of the tensor
_SAYS = "the format writes a member of this value: an array, a shape or a dtype looks unlike a tensor's there"
_FIRST = re.compile(r"\.(\w+)")


def members_as_text(context: Context, decisions: Decisions, call: ast.Call, text: str) -> None:
    """Where a format names a member of a tensor, an array is handed over; of an object it is asked about."""
    for value, path in looked_into(text, call):
        kinds = options(context.analysis.kind(value))
        if any(isinstance(one, Tensor) and not one.array for one in kinds):
            if path in _OF_BOTH and all(isinstance(one, Tensor) for one in kinds):
                wrap(context, decisions, value, "value.detach().cpu().numpy()")
            else:
                decisions.mark(value, None, "chainer.Variable", "review", _SAYS, "C2T320")
        elif any(_shows(member) for one in kinds if (member := _member(context, one, path)) is not None):
            decisions.mark(value, None, "str.format", "review", _SAYS, "C2T320")


def _member(context: Context, kind: Kind, path: str) -> Kind | None:
    """The first member of an object of the program's; None: it has none of that name."""
    found = _FIRST.match(path)
    if not found or not isinstance(kind, Inst) or not isinstance(kind.cls, ClassInfo):
        return None
    return context.analysis.attribute(kind, found[1])


def _shows(kind: Kind) -> bool:
    return holds_kind(kind, lambda one: isinstance(one, Tensor)) or holds_shapes(kind) or may_hold_tensors(kind)


__all__ = ["members_as_text"]
