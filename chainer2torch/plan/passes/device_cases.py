"""Hard cases of devices: NumPy's device is the host, where arrays are no tensors; devices as text; their classes."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, options
from chainer2torch.analysis.models.methods import sends_to_numpy
from chainer2torch.plan.edits import Wrap
from chainer2torch.plan.sites import Plan
from chainer2torch.rules.table import Row

_TYPES = {"chainer.backend.CpuDevice": "cpu", "chainer.backend.GpuDevice": "cuda"}


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


def texts(plan: Plan) -> None:
    """``str(device) == '@numpy'``: the text is Chainer's where the program works with it, not where it is printed."""
    for node in plan.source.of(ast.Call, ast.JoinedStr, ast.BinOp):
        if isinstance(node, ast.Call):
            callee = plan.analysis.kind(node.func)
            if (
                callee == Ref("builtins.str")
                and len(node.args) == 1
                and _is_device(plan, node.args[0])
                and not _printed(plan, node)
            ):
                plan.replace(node, "compat.device_name(device)", {"device": plan.operand(node.args[0])})
                _mark(plan, node.args[0])
            elif isinstance(node.func, ast.Attribute) and node.func.attr == "format":
                _as_text(plan, node, [*node.args, *(k.value for k in node.keywords)])
        elif isinstance(node, ast.JoinedStr):
            _as_text(plan, node, [v.value for v in node.values if isinstance(v, ast.FormattedValue)])
        elif isinstance(node.op, ast.Mod):
            _as_text(plan, node, node.right.elts if isinstance(node.right, ast.Tuple) else [node.right])


def _as_text(plan: Plan, node: ast.expr, values: list[ast.expr]) -> None:
    devices = [v for v in values if v not in plan.wraps and _is_device(plan, v)]
    if devices and not _printed(plan, node):
        for value in devices:
            plan.wraps[value] = Wrap(plan.source.span(value), "compat.device_name(value)")
            _mark(plan, value)


def _is_device(plan: Plan, node: ast.expr) -> bool:
    return all(
        isinstance(k, Inst) and plan.analysis.derives(k.cls, "chainer.backend.Device")
        for k in options(plan.analysis.kind(node))
    )


def _mark(plan: Plan, node: ast.expr) -> None:
    row = plan.rules.rows["chainer.backend.Device.name"]
    plan.mark(node, row, row.name, row.state)


def _printed(plan: Plan, node: ast.expr) -> bool:
    """Whether a text goes to ``print`` as it is: there it is for a person."""
    parent: ast.AST | None = plan.source.parents.get(node)
    while isinstance(parent, (ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.Tuple)):
        parent = plan.source.parents.get(parent)
    return isinstance(parent, ast.Call) and plan.analysis.kind(parent.func) == Ref("builtins.print")


def class_tests(plan: Plan) -> None:
    """``isinstance(device, chainer.backend.GpuDevice)``: devices of torch have one class and a type."""
    for node in plan.source.of(ast.Call):
        if len(node.args) != 2 or node.keywords or plan.analysis.kind(node.func) != Ref("builtins.isinstance"):
            continue
        name = plan.reference(node.args[1])
        kinds = options(plan.analysis.kind(node.args[0]))
        if name in _TYPES and all(k == UNKNOWN or isinstance(k, Inst) for k in kinds):
            plan.replace(node, f"compat.is_device(device, '{_TYPES[name]}')", {"device": plan.operand(node.args[0])})
            plan.use(node.args[1])
            plan.mark(node.args[1], plan.rules.rows[name], name, "exact")
