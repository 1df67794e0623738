"""Where tensors become Python numbers."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.questions.compared_shapes import asks_own_shape, was_compared
from chainer2torch.plan.questions.graph_crossings import crosses_anywhere
from chainer2torch.plan.questions.lazy_layers import has_its_size, may_be_lazy

_ARRAYS = frozenset({"data", "array"})
_OF_NUMBERS = frozenset({"abs", "absolute", "clip", "exp", "log", "sign", "sqrt", "square", "tanh"})
_NUMBERS = frozenset({"argmax", "argmin", "device", "dtype", "item", "ndim", "shape", "size", "tolist"})
# what gives the values of an array in memory of its own
_COPIES = frozenset({"array", "asarray", "ascontiguousarray", "astype", "copy", "deepcopy", "to_cpu", "to_gpu"})
_OTHER_SHAPES = frozenset(
    {"T", "concatenate", "expand_dims", "flatten", "pad", "ravel", "repeat", "reshape", "rollaxis", "squeeze", "stack"}
    | {"swapaxes", "take", "tile", "transpose"}
)
_DEVICE = "chainer.backends.cuda.Device"


def to_number(context: Context, decisions: Decisions, call: ast.Call, target: str) -> None:
    """``float(loss.data)`` and ``float(loss)`` become ``loss.item()``."""
    if len(call.args) != 1 or call.keywords:
        return
    value = call.args[0]
    inner = value.value if isinstance(value, ast.Attribute) and value.attr in _ARRAYS else value
    kinds = options(context.analysis.kind(inner))
    if target == "int" and all(isinstance(k, Inst) and k.cls == _DEVICE for k in kinds):
        helpers = "native" if context.choices.style == "native" else "compat"
        decisions.replace(call, f"{helpers}.device_number(device)", {"device": context.operand(value)})
        decisions.mark(call, context.rules.rows[f"{_DEVICE}.id"], _DEVICE, "exact")
        return
    if not all(isinstance(k, Tensor) for k in kinds):
        return
    if context.choices.style == "native" and inner is value and all(isinstance(k, Tensor) and k.array for k in kinds):
        return  # a tensor without a graph is converted as an array is
    same = all(isinstance(k, Tensor) and _is_type(k.dtype, target) for k in kinds)
    if context.choices.style == "native" and target == "float":  # what Chainer computes with Variables is a float
        same = same or all(isinstance(k, Tensor) and k.dtype is None and not k.array for k in kinds)
    template = "value.item()" if same else f"{target}(value.item())"
    if inner is not value:
        row = context.rules.member("chainer.Variable", value.attr)  # type: ignore[attr-defined]
        decisions.mark(value, row, row.name if row else "chainer.Variable.data", "exact")
    decisions.replace(call, template, {"value": context.operand(inner)})


def of_unknown(context: Context, node: ast.Attribute, template: str) -> str:
    """What an attribute of an unknown value becomes: a parameter that has no shape yet has no array in Chainer."""
    if node.attr != "array" or context.choices.style != "native":
        return template
    if isinstance(context.source.parents.get(node), ast.Compare):
        return "compat.array_of(self)"
    return "self" if asks_numbers(context, node) else template


def held_array(context: Context, owner: ast.expr, value: ast.expr, helper: str, target: str = "self") -> str:
    """What ``x.array = value`` becomes: ``x`` holds that array from now on.

    A parameter that waits for its shape would forget it with the first input: the helper gives it the shape. One with
    whose array the value is computed does not wait. Where a graph outlives a step, it goes backward with the values of
    then in Chainer; in PyTorch it holds the memory that the parameter had, so the new values are written into it.
    """
    if context.choices.style != "native" or not _has_shape(context, owner, value):
        return helper
    whole = all(isinstance(k, Tensor) for k in options(context.analysis.kind(value)))
    made = "value" if whole else tensor_of(context, value)
    if _changes(owner, value) and context.analysis.once(crosses_anywhere) and not _is_kept(context, owner):
        return f"{target}.data.copy_({made})"
    return f"{target}.data = {made}"


def _changes(owner: ast.expr, value: ast.expr) -> bool:
    """Whether a value is a new array of the same shape that is made of that of ``owner``.

    A mere copy of it is none: ``p.array = p.array.copy()`` wants memory of its own, which nobody shares.
    """
    text = ast.unparse(owner)
    if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in _COPIES:
        given = [value.func.value, *value.args] if isinstance(value.func, ast.Attribute) else value.args
        if any(isinstance(g, ast.Attribute) and g.attr in _ARRAYS and ast.unparse(g.value) == text for g in given):
            return False
    nodes = nodes_of(value)
    if any(isinstance(n, ast.Subscript) or isinstance(n, ast.Attribute) and n.attr in _OTHER_SHAPES for n in nodes):
        return False
    return isinstance(value, (ast.BinOp, ast.Call, ast.UnaryOp)) and any(
        isinstance(node, ast.Attribute) and node.attr in _ARRAYS and ast.unparse(node.value) == text for node in nodes
    )


def _is_kept(context: Context, owner: ast.expr) -> bool:
    """Whether the array of before has a name, too, or stands in a container: it may be put back."""
    function = context.source.enclosing(owner, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    text = ast.unparse(owner)
    for node in nodes_of(function):
        if not isinstance(node, ast.Attribute) or node.attr not in _ARRAYS or not isinstance(node.ctx, ast.Load):
            continue
        parent = context.source.parents.get(node)
        if isinstance(parent, (ast.Assign, ast.Tuple, ast.List, ast.Dict)) and ast.unparse(node.value) == text:
            return True
    return False


def _has_shape(context: Context, owner: ast.expr, value: ast.expr) -> bool:
    """Whether a parameter does not wait for its shape by the time that it gets an array."""
    if not context.analysis.once(may_be_lazy) or _computed_with(owner, value):
        return True
    if asks_own_shape(owner, value) or was_compared(context.source, owner):
        return True
    return isinstance(owner, ast.Attribute) and has_its_size(context.analysis, owner.value)


def _computed_with(owner: ast.expr, value: ast.expr) -> bool:
    """Whether a value is computed with the array of ``owner``, which raises for None: ``xp.clip(p.data, a, b)``."""
    text = ast.unparse(owner)
    for node in nodes_of(value):
        parts: list[ast.expr] = []
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            parts = [node.value]
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_NUMBERS:
            parts = node.args[:1]
        if any(isinstance(p, ast.Attribute) and p.attr in _ARRAYS and ast.unparse(p.value) == text for p in parts):
            return True
    return False


def asks_numbers(context: Context, node: ast.Attribute) -> bool:
    """Whether only what has no gradient is asked of an array: `x.data.shape`, `len(x.array)`, `y.data.argmax(1)`."""
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Call):
        return context.analysis.kind(parent.func) == Ref("builtins.len")
    return isinstance(parent, ast.Attribute) and parent.attr in _NUMBERS


def _is_type(dtype: str | None, target: str) -> bool:
    return dtype is not None and dtype.startswith("float" if target == "float" else "int")
