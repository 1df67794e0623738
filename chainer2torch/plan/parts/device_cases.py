"""Hard cases of devices: NumPy's device is the host, where arrays are no tensors; devices as text; their classes."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Tensor, options
from chainer2torch.analysis.models.methods import sends_to_numpy
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row


def send(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``device.send(x)``: a tensor there; where the device is written out as NumPy's, an array of NumPy."""
    call = context.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
    elif sends_to_numpy(context.analysis, call):
        arrays = call.args[0]
        native = context.choices.style == "native"
        single = native and all(isinstance(k, Tensor) for k in options(context.kind(arrays)))
        template = "arrays.cpu().numpy()" if single else "native.to_cpu(arrays)" if native else "compat.to_cpu(arrays)"
        decisions.replace(call, template, {"arrays": context.operand(arrays)})
        decisions.mark(node, row, row.name, row.state)
    else:
        emit_call(context, decisions, call, row, node, receiver=node.value)
