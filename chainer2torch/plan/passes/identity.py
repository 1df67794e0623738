"""``x.array is y.array``: in Chainer the array of a Variable is one object, in PyTorch each ``detach()`` makes one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import UNKNOWN, Const, HostArray, Kind, Tensor, options
from chainer2torch.plan.edits import Operand

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

_ASSERTIONS = {"assertIs": "assertTrue", "assertIsNot": "assertFalse"}


def compared(plan: Plan, node: ast.Compare) -> None:
    """``is`` between two arrays becomes a comparison of the memory that they stand for."""
    if (
        len(node.ops) != 1
        or not isinstance(node.ops[0], (ast.Is, ast.IsNot))
        or not _are_arrays(plan, node.left, node.comparators[0])
    ):
        return
    sign = "" if isinstance(node.ops[0], ast.Is) else "not "
    plan.replace(node, f"{sign}compat.is_same_array(a, b)", _operands(plan, node.left, node.comparators[0]))
    plan.mark(node, None, "numpy.ndarray", "exact", "", "C2T320")


def asserted(plan: Plan, call: ast.Call) -> None:
    """``self.assertIs(x.array, y.array)``, the same of a test."""
    if (
        not isinstance(call.func, ast.Attribute)
        or call.func.attr not in _ASSERTIONS
        or len(call.args) < 2
        or not _are_arrays(plan, call.args[0], call.args[1])
    ):
        return
    operands = _operands(plan, call.args[0], call.args[1])
    operands["test"] = plan.operand(call.func.value)
    rest = "".join(f", argument_{i}" for i in range(2, len(call.args)))
    operands.update((f"argument_{i}", plan.operand(call.args[i])) for i in range(2, len(call.args)))
    rest += "".join(f", {k.arg}={k.arg}_" for k in call.keywords)
    operands.update((f"{k.arg}_", plan.operand(k.value)) for k in call.keywords)
    plan.replace(call, f"test.{_ASSERTIONS[call.func.attr]}(compat.is_same_array(a, b){rest})", operands)
    plan.mark(call, None, "numpy.ndarray", "exact", "", "C2T320")


def _operands(plan: Plan, a: ast.expr, b: ast.expr) -> dict[str, Operand]:
    return {"a": plan.operand(a), "b": plan.operand(b)}


def _are_arrays(plan: Plan, a: ast.expr, b: ast.expr) -> bool:
    """Whether one side is an array that became a tensor, and the other may be one."""
    kinds = [plan.analysis.kind(side) for side in (a, b)]
    return any(_is_array(plan, side, kind) for side, kind in zip((a, b), kinds, strict=True)) and all(
        _may_be_array(kind) for kind in kinds
    )


def _is_array(plan: Plan, node: ast.expr, kind: Kind) -> bool:
    if kind == UNKNOWN:  # `x.array` of what nobody knows
        return isinstance(node, ast.Attribute) and plan.imports_chainer and node.attr in ("array", "data")
    return any(isinstance(k, Tensor) and k.array for k in options(kind))


def _may_be_array(kind: Kind) -> bool:
    return any(
        k == UNKNOWN or isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in options(kind)
    ) and kind != Const(None)
