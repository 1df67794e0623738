"""Where tensors become Python numbers."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_ARRAYS = frozenset({"data", "array"})
_DEVICE = "chainer.backends.cuda.Device"


def to_number(context: Context, decisions: Decisions, call: ast.Call, target: str) -> None:
    """``float(loss.data)`` and ``float(loss)`` become ``loss.item()``."""
    if len(call.args) != 1 or call.keywords:
        return
    value = call.args[0]
    inner = value.value if isinstance(value, ast.Attribute) and value.attr in _ARRAYS else value
    kinds = options(context.analysis.kind(inner))
    if target == "int" and all(isinstance(k, Inst) and k.cls == _DEVICE for k in kinds):
        decisions.replace(call, "compat.device_number(device)", {"device": context.operand(value)})
        decisions.mark(call, context.rules.rows[f"{_DEVICE}.id"], _DEVICE, "exact")
        return
    if not all(isinstance(k, Tensor) for k in kinds):
        return
    same = all(isinstance(k, Tensor) and _is_type(k.dtype, target) for k in kinds)
    template = "value.item()" if same else f"{target}(value.item())"
    if inner is not value:
        row = context.rules.member("chainer.Variable", value.attr)  # type: ignore[attr-defined]
        decisions.mark(value, row, row.name if row else "chainer.Variable.data", "exact")
    decisions.replace(call, template, {"value": context.operand(inner)})


def _is_type(dtype: str | None, target: str) -> bool:
    return dtype is not None and dtype.startswith("float" if target == "float" else "int")
