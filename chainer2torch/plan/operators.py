"""Operators whose meaning differs between arrays of NumPy and tensors of torch."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import Kind, Tensor, options
from chainer2torch.plan.match import parsed

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.Mod: "mod",
}


def operator(plan: Plan, node: ast.BinOp) -> None:
    """``a // b`` of tensors: only rules that change the spelling are applied."""
    name = _OPERATORS.get(type(node.op))
    left, right = plan.analysis.kind(node.left), plan.analysis.kind(node.right)
    if name is None or not (_is_variable(left) or _is_variable(right)):
        return
    row = plan.rules.member("chainer.Variable", f"__{name}__" if _is_variable(left) else f"__r{name}__")
    if row is None or not row.cases or row.cases[-1].when is not None or row.state == "manual":
        return
    template = row.cases[-1].torch
    tree = parsed(template)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, type(node.op)):
        return
    own, other = (node.left, node.right) if _is_variable(left) else (node.right, node.left)
    plan.replace(node, template, {"self": plan.operand(own), "rhs": plan.operand(other)})
    plan.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")


def _is_variable(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and not k.array for k in options(kind))
