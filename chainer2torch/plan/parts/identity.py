"""``x.array is y.array``: in Chainer the array of a Variable is one object, in PyTorch each ``detach()`` makes one."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Const, HostArray, Kind, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand

_ASSERTIONS = {"assertIs": "assertTrue", "assertIsNot": "assertFalse"}


def compared(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``is`` between two arrays becomes a comparison of the memory that they stand for."""
    if (
        len(node.ops) != 1
        or not isinstance(node.ops[0], (ast.Is, ast.IsNot))
        or not _are_arrays(context, node.left, node.comparators[0])
    ):
        return
    sign = "" if isinstance(node.ops[0], ast.Is) else "not "
    decisions.replace(node, f"{sign}compat.is_same_array(a, b)", _operands(context, node.left, node.comparators[0]))
    decisions.mark(node, None, "numpy.ndarray", "exact", "", "C2T320")


def asserted(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``self.assertIs(x.array, y.array)``, the same of a test."""
    if (
        not isinstance(call.func, ast.Attribute)
        or call.func.attr not in _ASSERTIONS
        or len(call.args) < 2
        or not _are_arrays(context, call.args[0], call.args[1])
    ):
        return
    operands = _operands(context, call.args[0], call.args[1])
    operands["test"] = context.operand(call.func.value)
    rest = "".join(f", argument_{i}" for i in range(2, len(call.args)))
    operands.update((f"argument_{i}", context.operand(call.args[i])) for i in range(2, len(call.args)))
    rest += "".join(f", {k.arg}={k.arg}_" for k in call.keywords)
    operands.update((f"{k.arg}_", context.operand(k.value)) for k in call.keywords)
    decisions.replace(call, f"test.{_ASSERTIONS[call.func.attr]}(compat.is_same_array(a, b){rest})", operands)
    decisions.mark(call, None, "numpy.ndarray", "exact", "", "C2T320")


def _operands(context: Context, a: ast.expr, b: ast.expr) -> dict[str, Operand]:
    return {"a": context.operand(a), "b": context.operand(b)}


def _are_arrays(context: Context, a: ast.expr, b: ast.expr) -> bool:
    """Whether one side is an array that became a tensor, and the other may be one."""
    kinds = [context.analysis.kind(side) for side in (a, b)]
    return any(_is_array(context, side, kind) for side, kind in zip((a, b), kinds, strict=True)) and all(
        _may_be_array(kind) for kind in kinds
    )


def _is_array(context: Context, node: ast.expr, kind: Kind) -> bool:
    if kind == UNKNOWN:  # `x.array` of what nobody knows
        return isinstance(node, ast.Attribute) and context.imports_chainer and node.attr in ("array", "data")
    return any(isinstance(k, Tensor) and k.array for k in options(kind))


def _may_be_array(kind: Kind) -> bool:
    return any(
        k == UNKNOWN or isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in options(kind)
    ) and kind != Const(None)
