"""Shapes and axes that are no tuples or lists: Chainer's functions take every sequence of numbers, PyTorch's do not."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Bottom, Dct, HostArray, Kind, Lst, Ref, Tensor, Tup, options, scalar_type
from chainer2torch.analysis.models.array_operators import repeats
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.plan.questions.only_values import only_value

# the parameters, as Chainer's and NumPy's functions call them
_OF_NUMBERS = frozenset({"axes", "destination", "newshape", "output_shape", "reps", "shape", "source"})
BY_NUMPY = "torch.as_tensor(numpy.asarray(value))"
_NO_NUMBERS = frozenset({"NoneType", "bytes", "str"})
_LAZY = frozenset({"filter", "map", "range", "reversed", "zip"})  # what Python makes without a list


def as_sequences(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``F.moveaxis(x, [0, 1], range(2))``, ``F.reshape(x, dims)`` with an array of sizes: a tuple, or a list."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    found = [(node, text) for node in arguments if (text := _conversion(context, node))]
    choice = chosen(context, call) if found else None
    if choice is None or choice.template is None or "numpy." in choice.template:  # NumPy takes them as they are
        return
    named = {id(node) for name, node in choice.reading.bound.given.items() if name in _OF_NUMBERS}
    signature = choice.reading.row.signature
    alone = signature is not None and any(p.kind == "args" and p.name in _OF_NUMBERS for p in signature.parameters)
    for node, text in found:
        if id(node) in named or alone and call.args == [node]:  # `x.reshape(dims)`
            wrap(context, decisions, node, text)


def is_repeated(context: Context, node: ast.BinOp) -> bool:
    """``[0] * lengths[i]``: Python repeats a list as often as one whole number says, also one on the device."""
    return repeats(node.op, context.analysis.kind(node.left), context.analysis.kind(node.right))


def as_one_tensor(kind: Kind) -> str:
    """What makes one tensor of a list or tuple, as NumPy makes an array of it beside one: ``z + [1, 2, 3]``; empty: it
    is none, has no elements, or others than numbers, arrays and what nobody knows.
    """
    items = (kind.element,) if isinstance(kind, Lst) else kind.items if isinstance(kind, Tup) else ()
    kinds = [option for item in items if not isinstance(item, Bottom) for option in options(item)]
    if not kinds or any(isinstance(k, (Lst, Tup, Dct)) or scalar_type(k) in _NO_NUMBERS for k in kinds):
        return ""
    return "torch.stack(value)" if all(isinstance(k, Tensor) for k in kinds) else BY_NUMPY


def _conversion(context: Context, node: ast.expr) -> str:
    """How a sequence of numbers becomes one that PyTorch takes; empty: it is one, or nobody knows."""
    kind: Kind = context.analysis.kind(node)
    if isinstance(kind, (HostArray, Tensor)):
        return "value.tolist()" if kind.rank in (None, 1) else ""
    if isinstance(node, ast.Name):
        node = only_value(context, node) or node
    function = context.analysis.kind(node.func) if isinstance(node, ast.Call) else None
    lazy = isinstance(function, Ref) and function.name.removeprefix("builtins.") in _LAZY
    return "tuple(value)" if lazy else ""


__all__ = ["BY_NUMPY", "as_one_tensor", "as_sequences", "is_repeated"]
