"""Devices as text: ``str(device)``.

What is printed has PyTorch's name of a device, ``cpu``, where Chainer's is ``@numpy``: a declared difference.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part

_PRINT = Ref("builtins.print")
_DIFFERENCE = "device-text"


def run(context: Context) -> Decisions:
    """``str(device) == '@numpy'``: the text is Chainer's where the program works with it, not where it is printed."""
    decisions = Decisions(context)
    for node in context.source.of(ast.Call, ast.JoinedStr, ast.BinOp):
        if isinstance(node, ast.Call):
            callee = context.analysis.kind(node.func)
            if (
                isinstance(callee, Ref)
                and callee.name == "builtins.str"
                and len(node.args) == 1
                and _is_device(context, node.args[0])
            ):
                if _printed(context, node):
                    _mark(context, decisions, node.args[0], _DIFFERENCE)
                    continue
                decisions.replace(
                    node, f"{_helpers(context)}.device_name(device)", {"device": context.operand(node.args[0])}
                )
                _mark(context, decisions, node.args[0])
            elif callee == _PRINT:
                for value in node.args:
                    if _is_device(context, value):
                        _mark(context, decisions, value, _DIFFERENCE)
            elif isinstance(node.func, ast.Attribute) and node.func.attr == "format":
                _as_text(context, decisions, node, [*node.args, *(k.value for k in node.keywords)])
        elif isinstance(node, ast.JoinedStr):
            _as_text(context, decisions, node, [v.value for v in node.values if isinstance(v, ast.FormattedValue)])
        elif isinstance(node.op, ast.Mod):
            _as_text(context, decisions, node, node.right.elts if isinstance(node.right, ast.Tuple) else [node.right])
    return decisions


def _as_text(context: Context, decisions: Decisions, node: ast.expr, values: list[ast.expr]) -> None:
    devices = [v for v in values if _is_device(context, v)]
    if _printed(context, node):
        for value in devices:
            _mark(context, decisions, value, _DIFFERENCE)
    else:
        for value in devices:
            with decisions.provided(free=((Part.WRAP, value),)):
                decisions.wrap(value, f"{_helpers(context)}.device_name(value)")
                _mark(context, decisions, value)


def _helpers(context: Context) -> str:
    return "native" if context.choices.style == "native" else "compat"


def _is_device(context: Context, node: ast.expr) -> bool:
    return all(
        isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.backend.Device")
        for k in options(context.analysis.kind(node))
    )


def _mark(context: Context, decisions: Decisions, node: ast.expr, difference: str = "") -> None:
    row = context.rules.rows["chainer.backend.Device.name"]
    decisions.mark(node, row, row.name, row.state, difference=difference)


def _printed(context: Context, node: ast.expr) -> bool:
    """Whether a text goes to ``print`` as it is: there it is for a person."""
    parent: ast.AST | None = context.source.parents.get(node)
    while isinstance(parent, (ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.Tuple)):
        parent = context.source.parents.get(parent)
    return isinstance(parent, ast.Call) and context.analysis.kind(parent.func) == _PRINT
