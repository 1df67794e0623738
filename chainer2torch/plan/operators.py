"""Operators, comparisons and indexing whose meaning differs between arrays of NumPy and tensors of torch."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import HostArray, Inst, Kind, Lst, Ref, Tensor, options, scalar_type
from chainer2torch.plan.match import parsed

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.Mod: "mod",
}
_DTYPES = frozenset({"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"})


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


def subscript(plan: Plan, node: ast.Subscript) -> None:
    """``x[0, :, i]``: NumPy puts the axes of an index array in front when a slice parts it from an integer."""
    if not isinstance(node.slice, ast.Tuple) or not all(
            isinstance(k, Tensor) for k in options(plan.analysis.kind(node.value))):
        return
    groups, parted = [], True
    for item in node.slice.elts:
        if isinstance(item, ast.Slice) or isinstance(item, ast.Constant) and item.value in (None, Ellipsis):
            parted = True
            continue
        if parted:
            groups.append(False)
        parted = False
        groups[-1] = groups[-1] or _is_index_array(plan.analysis.kind(item))
    if len(groups) > 1 and any(groups):
        row = plan.rules.member("chainer.Variable", "__getitem__")
        plan.mark(node, row, "chainer.Variable.__getitem__", "manual",
                  "an index array and another index with a slice between them: NumPy puts their axes in front, torch "
                  "does not; write compat.get_item(x, (...)) or index in two steps", "C2T311")


def _is_index_array(kind: Kind) -> bool:
    return any(isinstance(k, (Tensor, HostArray, Lst)) and scalar_type(k) is None and getattr(k, "rank", 1) != 0
               for k in options(kind))


def comparison(plan: Plan, node: ast.Compare) -> None:
    """``x.dtype == np.float32`` of a tensor: its dtype is torch's, which never equals NumPy's."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return
    for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        kind = plan.analysis.kind(other)
        if plan.analysis.kind(one) != Inst("torch.dtype"):
            continue
        if isinstance(kind, Ref) and kind.name.startswith(("numpy.", "cupy.")):
            name = kind.name.rsplit(".", 1)[1]
            if name in _DTYPES:
                plan.replace(other, f"torch.{name}", {})
                plan.use(other)
                return
        if kind != Inst("torch.dtype"):
            plan.mark(node, None, "chainer.Variable.dtype", "review",
                      "the dtype of a tensor is torch's; it is compared with something else", "C2T312")


__all__ = ["comparison", "operator", "subscript"]
