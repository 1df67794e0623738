"""``x.dtype`` and ``x.size`` of what may be an array of NumPy's or a tensor: asked through a helper."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import is_torch_dtype
from chainer2torch.plan.questions.perhaps import may_be_tensor
from chainer2torch.plan.questions.receivers import among_tensors, tested_as_array

_AT_RUN_TIME = "What it is called on is not known here; the helper looks at run time."
# attributes that are arrays or parameters; names of array modules
_OF_PARTS, _MODULES = frozenset({"W", "array", "data", "grad"}), frozenset({"np", "numpy", "xp", "cupy", "cp"})


def attribute_of_array(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """``z.dtype == np.float32`` and ``z.size > 0`` are false for every tensor: asked through a helper."""
    parent = context.source.parents.get(node)
    if (
        node.attr not in ("dtype", "size")
        or not isinstance(node.ctx, ast.Load)
        or not context.imports_chainer
        or context.migrated
        or not _may_be_tensor(context, node.value)
    ):
        return False
    if isinstance(node.value, ast.Name) and node.value.id in _MODULES:
        return False
    if node.attr == "dtype" and isinstance(parent, ast.Compare) and any(map(_is_of_torch, parent.comparators)):
        return False  # an earlier run wrote that: only a part of the file is left to do
    if (
        node.attr == "size"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in _OF_PARTS
        and not (isinstance(parent, ast.Call) and parent.func is node)
    ):
        decisions.replace(node, "compat.size_of(x)", {"x": context.operand(node.value)})  # of an array or a parameter
        decisions.mark(node, None, "?.size", "exact", _AT_RUN_TIME, "C2T390")
        return True
    compared = (
        isinstance(parent, (ast.Compare, ast.Attribute))
        or isinstance(parent, (ast.Tuple, ast.List))
        and isinstance(context.source.parents.get(parent), ast.Compare)
    )
    if node.attr == "dtype" and isinstance(parent, ast.Compare) and _beside_torch_dtype(context, parent, node):
        return False  # what compares dtypes of torch makes one of it
    if node.attr == "dtype" and compared and (context.holds_tensors or context.analysis.kind(node.value) != UNKNOWN):
        decisions.replace(node, "compat.dtype_of(x)", {"x": context.operand(node.value)})
    elif node.attr == "size" and _is_size_of_array(context, node, parent):
        decisions.replace(node, "compat.size_of(x)", {"x": context.operand(node.value)})
    else:
        return False
    decisions.mark(node, None, f"?.{node.attr}", "exact", _AT_RUN_TIME, "C2T390")
    return True


def _is_size_of_array(context: Context, node: ast.Attribute, parent: ast.AST | None) -> bool:
    """Whether ``x.size`` is a number, and may be that of a tensor."""
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    if tested_as_array(context, node.value):
        return True
    if may_be_tensor(context, node.value):
        return not isinstance(parent, (ast.Attribute, ast.Subscript))
    return not isinstance(parent, (ast.Call, ast.Attribute, ast.Subscript)) and (
        among_tensors(context, node) or _is_tensor_at_times(context, node.value)
    )


def _may_be_tensor(context: Context, node: ast.expr) -> bool:
    """Whether a value is unknown, or one of several kinds of which one is unknown or a tensor."""
    return any(k == UNKNOWN or isinstance(k, Tensor) for k in options(context.analysis.kind(node)))


def _is_tensor_at_times(context: Context, node: ast.expr) -> bool:
    """Whether a value is a tensor for some of those that call."""
    return any(isinstance(k, Tensor) for k in options(context.analysis.kind(node)))


def _is_of_torch(node: ast.expr) -> bool:
    """Whether an expression is a name of torch's, such as ``torch.float16``, or ``compat.torch_dtype(dtype)``."""
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "torch_dtype"
    return made or isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch"


def _beside_torch_dtype(context: Context, compared: ast.Compare, node: ast.expr) -> bool:
    """Whether ``node`` is one of two dtypes that are compared, and the other is known to be a tensor's."""
    sides = [side for side in (compared.left, *compared.comparators) if side is not node]
    return len(sides) == 1 and is_torch_dtype(context.analysis.kind(sides[0]))


__all__ = ["attribute_of_array"]
