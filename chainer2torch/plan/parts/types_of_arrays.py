"""``isinstance(y.array, type(x))``: both were arrays of NumPy; one is a tensor by now, the other may be none."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Ref, Tensor, options
from chainer2torch.analysis.models.xp_modules import EITHER, XP
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import comes_from_host

# of unittest
_ASSERTIONS = frozenset({"assertIsInstance", "assertNotIsInstance"})
_EITHER = frozenset({"numpy.ndarray", "torch.Tensor"})


def asserts_class(context: Context, call: ast.Call) -> bool:
    """Whether a call is an assertion of a test about the class of an array, which is a tensor or has ``type(x)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _ASSERTIONS or len(call.args) < 2:
        return False
    if _classes(context, call.args[0]) == {"torch.Tensor"} or _is_of_either(context, call.args[1]):
        return True
    return bool(_of_type(context, call.args[1]))


def _is_of_either(context: Context, node: ast.expr) -> bool:
    """``xp.ndarray`` of a module that may be NumPy: which class that is shows when the program runs."""
    return isinstance(node, ast.Attribute) and node.attr == "ndarray" and EITHER in options(context.kind(node.value))


def asserted_class(context: Context, node: ast.Attribute) -> str:
    """What ``xp.ndarray`` of a device is in an assertion about what may be an array of the host by now: either class.

    A branch goes on to ask for a tensor: ``if not isinstance(x, xp.ndarray): x = xp.asarray(x)``.
    """
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.args[1:] != [node] or node.attr != "ndarray":
        return ""
    of_test = isinstance(call.func, ast.Attribute) and call.func.attr in _ASSERTIONS
    asserted = isinstance(context.source.parents.get(call), ast.Assert)
    if not of_test and not (asserted and context.kind(call.func) == Ref("builtins.isinstance")):
        return ""
    sure = all(isinstance(k, Tensor) for k in options(context.kind(call.args[0])))
    return "" if sure or context.kind(node.value) != XP or context.choices.style != "native" else _named(_EITHER)


def class_of_other(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """Names the class of what is asked, where ``type(x)`` of the other array gives that of NumPy, or the reverse."""
    if len(call.args) < 2:
        return
    asked, other = _classes(context, call.args[0]), _of_type(context, call.args[1])
    if asked and other and (asked != other or len(asked) > 1):
        decisions.replace(call.args[1], _named(asked), {})
        decisions.mark(call.args[1], None, "numpy.ndarray", "exact", "", "C2T320")
    elif other and all(isinstance(k, Tensor) and not k.array for k in options(context.analysis.kind(call.args[0]))):
        message = "a Variable is never an array in Chainer; here both may be tensors"
        decisions.mark(call.args[1], None, "numpy.ndarray", "review", message, "C2T320")


def types_compared(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``type(x) is type(y)``, ``type(x) == type(y)``: the second becomes the class that the first has."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return
    sides = (node.left, node.comparators[0])
    for asked, other in (sides, sides[::-1]):
        classes = _of_type(context, asked)
        if len(classes) == 1 and _of_type(context, other) not in (frozenset(), classes):
            decisions.replace(other, _named(classes), {})
            decisions.mark(other, None, "numpy.ndarray", "exact", "", "C2T320")
            return


def _of_type(context: Context, node: ast.expr) -> frozenset[str]:
    """The classes that ``type(x)`` gives for an array, in the output."""
    if (
        not isinstance(node, ast.Call)
        or len(node.args) != 1
        or context.analysis.kind(node.func) != Ref("builtins.type")
    ):
        return frozenset()
    kind = context.analysis.kind(node.args[0])
    return _EITHER if kind == UNKNOWN and comes_from_host(context, node.args[0]) else _classes(context, node.args[0])


def _classes(context: Context, node: ast.expr) -> frozenset[str]:
    """The classes of a value that is an array in any case; none for what may be anything else."""
    kinds = options(context.analysis.kind(node))
    if not all(isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in kinds):
        return frozenset()
    return frozenset("numpy.ndarray" if isinstance(k, HostArray) else "torch.Tensor" for k in kinds)


def _named(classes: frozenset[str]) -> str:
    return f"({', '.join(sorted(classes))})" if len(classes) > 1 else next(iter(classes))
