"""``x.astype(dtype)`` of what nobody knows."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Const, Kind, Ref, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.questions.receivers import among_tensors, tested_as_array


def cast_of_unknown(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``(x != 0).astype(xp.float32)`` where x may be a tensor: the helper looks at run time.

    Host code has many such calls on values of unknown kind, which are arrays of NumPy and stay as they are.
    """
    call = context.source.parents.get(node)
    if (
        isinstance(call, ast.Call)
        and call.func is node
        and _may_be_array(context.analysis.kind(node.value))
        and context.imports_chainer
        and (among_tensors(context, call) or _holds_data(context, node.value) or tested_as_array(context, node.value))
        and not (_is_numpys_answer(context, node.value) and _is_numpys_dtype(context, call))
    ):
        emit_call(context, decisions, call, context.rules.rows["?.astype"], node, receiver=node.value)


def _is_numpys_answer(context: Context, node: ast.expr) -> bool:
    """``x.transpose((0, 2, 1))`` of what nobody knows stays: a tensor takes no such words, an array comes."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "transpose"
        and context.choices.style == "native"
        and context.analysis.kind(node.func.value) == UNKNOWN
        and (len(node.args) > 2 or len(node.args) == 1 and isinstance(node.args[0], ast.Tuple))
    )


def _is_numpys_dtype(context: Context, cast: ast.Call) -> bool:
    kind = context.analysis.kind(cast.args[0]) if cast.args else None
    return isinstance(kind, Ref) and kind.name.startswith("numpy.") or isinstance(kind, Const)


def _holds_data(context: Context, node: ast.expr) -> bool:
    """Whether a value is made of what a Variable holds: ``y.data[0]``. The ``mnist.data`` itself is a data set's."""
    parts = (n for n in nodes_of(node) if isinstance(n, ast.Attribute) and context.analysis.kind(n.value) == UNKNOWN)
    return any(n.attr == "array" or n.attr == "data" and n is not node for n in parts)


def _may_be_array(kind: Kind) -> bool:
    """Whether nobody knows the value, or it is taken for a number (``x > 0`` of an unknown x), which has no astype."""
    return all(k == UNKNOWN or scalar_type(k) in ("bool", "int", "float") for k in options(kind))
