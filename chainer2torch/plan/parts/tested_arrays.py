"""Tests of the class of an array, or of an element of one, that is a tensor by now."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Batch,
    Dct,
    HostArray,
    Kind,
    Lst,
    Ref,
    Tensor,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import is_torch_dtype, wrap
from chainer2torch.plan.parts.types_of_arrays import class_of_other, types_compared
from chainer2torch.plan.parts.fed_arrays import is_fed_arrays
from chainer2torch.plan.questions.type_tests import type_test, variable_asked
from chainer2torch.plan.questions.variable_tests import harmless, only_moves, wraps

_NUMBERS = ("numpy.int", "numpy.uint", "numpy.float", "numpy.bool", "numpy.number", "numpy.generic", "numpy.signed")
_OF_PYTHON = frozenset({"builtins.int", "builtins.float", "builtins.bool", "builtins.complex"})
_OF_TABLES = frozenset({"get", "pop", "setdefault"})
_MORE = frozenset({"numpy.unsignedinteger", "numpy.inexact"})
_TO_GPU = (Ref("chainer.cuda.to_gpu"), Ref("chainer.backends.cuda.to_gpu"))
_CODE = "C2T320"
_MAY_BE_TENSOR = "an array of a model is a tensor by now; so is a Variable, for which this was False in Chainer"

_OF_BOTH = (
    "some calls give an array and others a Variable; here both are tensors, and what takes gradients is a Variable"
)


def tested_class(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``isinstance(x, numpy.ndarray)`` of what is a tensor by now, as what a converter gives if it is one array.

    An element of an array is a number of NumPy: ``isinstance(labels[0], numpy.integer)``.
    """
    if len(call.args) < 2:
        return
    class_of_other(context, decisions, call)
    if context.analysis.kind(call.args[1]) == Ref("numpy.ndarray"):
        outer = context.source.parents.get(call)
        if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
            if _asks_for_device(context, decisions, outer, call.args[0], ""):
                return
        elif _asks_for_device(context, decisions, call, call.args[0], "not "):
            return
    kinds = options(context.analysis.kind(call.args[0]))
    if UNKNOWN in kinds:
        _of_unknown(context, decisions, call)
        return
    if _is_of_both(context, call.args[0]):
        _of_both(context, decisions, call)
        return
    arrays = [k for k in kinds if isinstance(k, Batch) or isinstance(k, Tensor) and k.array]
    others = (Dct, HostArray, Lst, Tup)  # no Variables, which a test for arrays tells from arrays
    if not arrays or not all(k in arrays or isinstance(k, others) or scalar_type(k) is not None for k in kinds):
        return
    classes = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
    wanted = [context.analysis.kind(cls) for cls in classes]
    if all(map(_is_number, wanted)) and tested_number(context, decisions, call.args[0]):
        return
    for cls, kind in zip(classes, wanted):
        if kind == Ref("numpy.ndarray"):
            both = any(isinstance(k, HostArray) for k in kinds)
            new = "(numpy.ndarray, torch.Tensor)" if both and cls is call.args[1] else "torch.Tensor"
            if new != "torch.Tensor" or not both:
                decisions.replace(cls, new, {})
                decisions.mark(cls, None, "numpy.ndarray", "exact", "", _CODE)


def _of_unknown(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``isinstance(link.state[name], np.ndarray)``: a persistent array of a link is a tensor. (An ``assert`` tells.)"""
    asserted = isinstance(context.source.parents.get(call), ast.Assert)
    if not asserted and context.imports_chainer and context.analysis.kind(call.args[1]) == Ref("numpy.ndarray"):
        # one that is sent where the arrays go is where it has to be: beside arrays of a GPU Chainer refuses it
        sent = only_moves(context.source, call, lambda f: context.analysis.kind(f) in _TO_GPU)
        decisions.replace(call.args[1], "(numpy.ndarray, torch.Tensor)", {})
        quiet = sent or _was_read(context, call)
        decisions.mark(call.args[1], None, "numpy.ndarray", "review", _MAY_BE_TENSOR, _CODE, quiet=quiet)


def _was_read(context: Context, call: ast.Call) -> bool:
    """Whether a serializer gave the value, in the statement before the test of it: numbers and arrays, no Variable."""
    test = context.source.line_statement(call)
    function = context.source.enclosing(call, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef) or function.name != "serialize" or len(function.args.args) != 2:
        return False
    block = next((b for _, b in ast.iter_fields(context.source.parents[test]) if isinstance(b, list) and test in b), [])
    before = block[block.index(test) - 1] if test in block[1:] else None
    return (
        isinstance(before, ast.Assign)
        and [ast.unparse(target) for target in before.targets] == [ast.unparse(call.args[0])]
        and isinstance(before.value, ast.Call)
        and ast.unparse(before.value.func) == function.args.args[1].arg
    )


def _is_of_both(context: Context, node: ast.expr) -> bool:
    """Whether calls give a parameter arrays and Variables."""
    kinds = options(context.analysis.kind(node))
    tensors = all(isinstance(k, (HostArray, Tensor)) for k in kinds) and not all(_is_array(k) for k in kinds)
    return tensors and is_fed_arrays(context, node)


def _of_both(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``isinstance(x, np.ndarray)`` of such a parameter; a Variable that is made of an array is the same tensor."""
    makes = (Ref("chainer.Variable"), Ref("chainer.variable.Variable"), Ref("chainer.as_variable"))
    if (
        context.analysis.kind(call.args[1]) != Ref("numpy.ndarray")
        or harmless(context.source, call)
        or wraps(context.source, call, lambda made: context.analysis.kind(made) in makes, asks_for_array=True)
    ):
        return
    decisions.replace(call, "not compat.is_variable(x)", {"x": context.operand(call.args[0])})
    decisions.use(call.args[1])
    decisions.mark(call.args[1], None, "numpy.ndarray", "review", _OF_BOTH, _CODE)


def tested_number(context: Context, decisions: Decisions, value: ast.expr) -> bool:
    """``np.isscalar(x.mean())``: NumPy's number in the place of a tensor; gives whether it may be one."""
    kinds = options(context.analysis.kind(value))
    if not all(isinstance(k, Tensor) and k.array and not k.rank for k in kinds):
        return False
    wrap(context, decisions, value, "value.cpu().numpy()[()]")
    return True


def asked_by_dtype(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``table.get(x.dtype)``: such a table is asked by dtypes of NumPy."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_TABLES and call.args:
        if is_torch_dtype(context.analysis.kind(call.args[0])):
            wrap(context, decisions, call.args[0], "compat.numpy_dtype(value)")


def tested_type(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``type(x) == numpy.ndarray`` of what is a tensor by now."""
    types_compared(context, decisions, node)
    test = type_test(context, node)
    if test is None or context.analysis.kind(test.cls) != Ref("numpy.ndarray"):
        return
    if _asks_for_device(context, decisions, node, test.value, "" if test.negated else "not "):
        return
    kinds = options(context.analysis.kind(test.value))
    if _is_of_both(context, test.value):
        decisions.mark(test.cls, None, "numpy.ndarray", "review", _OF_BOTH, _CODE)
    elif all(isinstance(k, Tensor) and k.array for k in kinds):
        decisions.replace(test.cls, "torch.Tensor", {})
        decisions.mark(test.cls, None, "numpy.ndarray", "exact", "", _CODE)


def _asks_for_device(context: Context, decisions: Decisions, test: ast.expr, value: ast.expr, negated: str) -> bool:
    """``if type(h.data) is not np.ndarray: pad.to_gpu()``: the array of a Variable is NumPy's on a CPU only."""
    variable = variable_asked(context, value, test)
    if variable is None:
        return False
    decisions.replace(test, f"{negated}x.is_cuda", {"x": context.operand(variable)})
    decisions.use(value)
    decisions.mark(test, None, "numpy.ndarray", "exact", "", _CODE)
    return True


def _is_array(kind: Kind) -> bool:
    return isinstance(kind, HostArray) or isinstance(kind, Tensor) and kind.array


def _is_number(cls: Kind) -> bool:
    """Whether a class is one of numbers."""
    if not isinstance(cls, Ref):
        return False
    return cls.name.startswith((*_NUMBERS, "numbers.")) or cls.name in _OF_PYTHON | _MORE


__all__ = ["asked_by_dtype", "tested_class", "tested_number", "tested_type"]
