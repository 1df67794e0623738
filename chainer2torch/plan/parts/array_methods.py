"""Hard cases of methods of arrays: copies with another dtype, reductions that convert what they reduce."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Const, Inst, Scalar, Tensor, options
from chainer2torch.analysis.lattice import MIXED, NETWORK
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.host_arrays import comes_from_host
from chainer2torch.plan.parts.host_values import is_torch_dtype
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.rules.signature import BindError
from chainer2torch.rules.table import Row

_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})
_VIEWS = frozenset(
    {
        "array",
        "array_split",
        "asarray",
        "ascontiguousarray",
        "broadcast_to",
        "expand_dims",
        "moveaxis",
        "ravel",
        "reshape",
        "rollaxis",
        "split",
        "squeeze",
        "swapaxes",
        "transpose",
    }
)
_OPTIONS_OF_ASTYPE = frozenset({"order", "casting", "subok"})


def astype(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``x.astype(dtype)``: ``x.to(dtype)``, with a copy where one can be told from none."""
    call = context.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        decisions.mark(node, row, row.name, "manual", "a method that is passed as a value")
        return
    assert row.signature is not None
    try:
        names = row.signature.bind(call.args, call.keywords, node.value).given
    except BindError:
        names = {}
    target, defaults = names.get("dtype"), row.signature.defaults
    if target is None or any(ast.unparse(names[name]) != defaults[name] for name in _OPTIONS_OF_ASTYPE & set(names)):
        decisions.mark(node, row, row.name, "manual", "options of astype that tensors do not have")
        return
    kind = context.analysis.kind(target)
    dtype, is_torch = dtype_of(kind), is_torch_dtype(kind) or _is_of_tensor(context, target)
    if dtype is None and not is_torch:
        emit_call(context, decisions, call, row, node, receiver=node.value)
        return
    if _is_made_so(context, node.value, target):
        decisions.replace(call, "x", {"x": context.operand(node.value)})
        decisions.mark(node, row, row.name, row.state)
        return
    operands = {"x": context.operand(node.value), "dtype": context.operand(target)}
    new = f"torch.{dtype}" if dtype else "dtype"
    copy = names.get("copy")
    if copy is None:
        template = f"x.to({new})" if _is_fresh(context, node.value, dtype) else f"x.to({new}, copy=True)"
    elif isinstance(copy, ast.Constant) and copy.value is False:
        template = f"x.to({new})"
    else:
        operands["copy_"] = context.operand(copy)
        template = f"x.to({new}, copy=copy_)"
    decisions.replace(call, template, operands)
    decisions.mark(node, row, row.name, row.state)


def _is_made_so(context: Context, made: ast.expr, target: ast.expr) -> bool:
    """Whether a value gets its dtype already where it is made: ``xp.zeros(3).astype('f')``."""
    choice = chosen(context, made) if isinstance(made, ast.Call) else None
    return (
        choice is not None
        and choice.template is not None
        and choice.question.bound.given.get("dtype") is target
        and choice.template.startswith("torch.")
    )


def _is_of_tensor(context: Context, dtype: ast.expr) -> bool:
    """``x.astype(w.dtype)`` of a ``w`` that nobody knows: that of a tensor is torch's, `.to` refuses one of NumPy's."""
    return (
        context.choices.style == "native"
        and isinstance(dtype, ast.Attribute)
        and dtype.attr == "dtype"
        and context.kind(dtype.value) == UNKNOWN
        and not comes_from_host(context, dtype.value)
    )


def _is_fresh(context: Context, node: ast.expr, dtype: str | None) -> bool:
    """Whether the value is nobody else's, or its dtype changes for sure: a copy could not be told from none."""
    old = {k.dtype if isinstance(k, Tensor) else None for k in options(context.analysis.kind(node))}
    if dtype is not None and None not in old and not old & {dtype, "floating", NETWORK}:
        return True
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    # what an array module makes is new, unless it is asked not to copy
    callee = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(callee, ast.Attribute)
        and isinstance(context.analysis.kind(callee.value), Inst)
        and context.rules.member("xp.Module", callee.attr) is not None
        and callee.attr not in _VIEWS
    )


# the dtypes that PyTorch refuses in a reduction, and what NumPy computes with instead
_BOOLEANS = (frozenset({"bool"}), "value.long()")
_REFUSED: dict[str, tuple[frozenset[str], str]] = {"argmax": _BOOLEANS, "argmin": _BOOLEANS}
_NOT_FLOATING = (_WHOLE, "value.double()")


def converted_reduction(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``mean``, ``std``, ``var`` of whole numbers, ``argmax`` of conditions: NumPy converts, PyTorch refuses."""
    call = context.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        decisions.mark(node, row, row.name, "manual", "a method that is passed as a value")
        return
    choice = emit_call(context, decisions, call, row, node, receiver=node.value)
    dtypes, conversion = _REFUSED.get(node.attr, _NOT_FLOATING)
    kinds = [k for k in options(context.analysis.kind(node.value)) if not isinstance(k, (Const, Scalar))]
    mixed = dtypes is _WHOLE and any(isinstance(k, Tensor) and k.dtype == MIXED for k in kinds)
    if mixed or all(isinstance(k, Tensor) and k.dtype in dtypes for k in kinds):
        if choice is None or choice.helpers.isdisjoint({"array_module", "with_numpy"}):
            decisions.wrap(node.value, "compat.promoted(value, 0.0)" if mixed else conversion)
