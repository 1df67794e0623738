"""Hard cases of devices: NumPy's device is the host, where arrays are no tensors."""
from __future__ import annotations

import ast

from chainer2torch.analysis.protocols import sends_to_numpy
from chainer2torch.plan.sites import Plan
from chainer2torch.rules import Row


def send(plan: Plan, node: ast.AST, row: Row) -> None:
    """``device.send(x)``: a tensor there; where the device is written out as NumPy's, an array of NumPy."""
    call = plan.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        plan.value(node, row)
    elif sends_to_numpy(plan.analysis, call):
        plan.replace(call, "compat.to_cpu(arrays)", {"arrays": plan.operand(call.args[0])})
        plan.mark(node, row, row.name, row.state)
    else:
        plan.call(call, row, node, receiver=node.value)
