"""An array of the host beside an expression that is a Variable: ``F.exp(x) * array``, whose dtype the Variable's is."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Perhaps, Ref, Tensor, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import is_moved_to_device, tensor_of
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.questions.perhaps import may_be_array, may_be_variable

_FLOATING = ("float16", "float32", "float64")
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_MAY_MEET = "the other side may be a Variable, which PyTorch computes with tensors alone"
_NOT_SEEN = "the array gets torch's default dtype; in Chainer it gets that of the expression beside it"


def beside_others(
    context: Context, decisions: Decisions, side: ast.expr, kind: Kind, other: Kind, at: ast.expr
) -> bool:
    """A value beside one that is no tensor for sure, at ``at``. Whether the whole operation is written anew."""
    if _is_of_host(kind) and _may_be_variable_alone(context, at):
        return meets_variable(context, decisions, side, at)
    if may_be_array(context, side) and _is_of_host(other) and not _goes_to_chainer(context, side):
        wrap(context, decisions, side, "compat.to_host(value)")
    elif not _of_either(context, decisions, side, kind, other):
        beside_unknown(context, decisions, side, kind, other, at)
    return False


def _may_be_variable_alone(context: Context, node: ast.expr) -> bool:
    """Whether it may be a Variable, and where it is a tensor it is one: none that was an array in Chainer's program."""
    kind = context.kind(node)
    known = options(kind.known if isinstance(kind, Perhaps) else kind)
    sure = not any(isinstance(k, Tensor) and (k.array or k.either) for k in known)
    return sure and may_be_variable(context, node)


def meets_variable(context: Context, decisions: Decisions, array: ast.expr, at: ast.expr) -> bool:
    """Makes a tensor of an array where the value at ``at`` is one: PyTorch's operators take no arrays of NumPy.

    Whether the whole operation is written anew.
    """
    if is_read_again(at):
        wrap(context, decisions, array, "compat.beside(value, other)", other=at)
        return False
    node = context.source.parents.get(array)
    name = _free_name(context, node) if isinstance(node, ast.BinOp) else None
    sign = _SIGNS.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    if name is None or not isinstance(node, ast.BinOp) or array is node.left and sign is None:
        decisions.mark(array, None, "numpy.ndarray", "review", _MAY_MEET, "C2T320")
    elif array is node.left:  # it is read before the other side is there
        template = f"compat.beside(value, {name} := other) {sign} {name}"
        decisions.replace(node, template, {"value": context.operand(array), "other": context.operand(at)})
        return True
    else:
        wrap(context, decisions, at, f"({name} := value)")
        wrap(context, decisions, array, f"compat.beside(value, {name})")
    return False


def _of_either(context: Context, decisions: Decisions, side: ast.expr, kind: Kind, other: Kind) -> bool:
    """Brings what is an array of NumPy at times, and a tensor at others, to the host where it meets NumPy's arrays.

    ``gamma * following * (1 - done)`` with ``following = last if t == n - 1 else values[t + 1]``: PyTorch refuses to
    compute with both. Whether it is such a value, whose result no function of Chainer's gets.
    """
    if not is_of_either(kind) or not (is_of_either(other) or _is_of_host(other)) or _goes_to_chainer(context, side):
        return False
    met = [context.analysis.kind(part) for part in _operands(context, side)]
    if not any(map(_is_of_host, met)) or not all(is_of_either(k) or _is_of_host(k) for k in met):
        return False  # what is a tensor for sure, or may be one, refuses what was brought to the host
    if isinstance(side, ast.BinOp):  # what it is made of has been brought there, and it stays there
        left, right = context.analysis.kind(side.left), context.analysis.kind(side.right)
        if _is_of_host(left) or _is_of_host(right) or is_of_either(left) and is_of_either(right):
            return True
    wrap(context, decisions, side, "compat.to_host(value)")
    return True


def _operands(context: Context, side: ast.expr) -> list[ast.expr]:
    """What the whole expression around an operand computes with, but for numbers."""
    whole: ast.AST = side
    while isinstance(around := context.source.parents.get(whole), (ast.BinOp, ast.UnaryOp)):
        whole = around
    parts = [n for n in ast.walk(whole) if isinstance(n, (ast.BinOp, ast.UnaryOp))]
    found = [end for n in parts for end in ([n.operand] if isinstance(n, ast.UnaryOp) else [n.left, n.right])]
    ends = [end for end in found if not isinstance(end, (ast.BinOp, ast.UnaryOp))]
    return [end for end in ends if scalar_type(context.analysis.kind(end)) is None]


def is_of_either(kind: Kind) -> bool:
    """Whether it is an array of NumPy or a number at times, and at others one that became a tensor."""
    kinds = options(kind)
    arrays = [k for k in kinds if scalar_type(k) is None]
    tensors = [isinstance(k, Tensor) and k.array for k in arrays]
    sure = all(tensors) and len(arrays) == len(kinds)
    return any(tensors) and not sure and all(t or isinstance(k, HostArray) for t, k in zip(tensors, arrays))


def _is_of_host(kind: Kind) -> bool:
    return all(isinstance(k, HostArray) for k in options(kind))


def beside_expression(context: Context, decisions: Decisions, node: ast.BinOp, array: ast.expr, variable: Kind) -> bool:
    """Gives an array the dtype of the expression that it meets. Whether the whole operation is written anew."""
    dtype = variable.dtype if isinstance(variable, Tensor) else None
    if dtype in _FLOATING:
        wrap(context, decisions, array, tensor_of(context, array, dtype))
        return False
    name, sign = _free_name(context, node), _SIGNS.get(type(node.op))
    if name is None or sign is None and array is node.left:
        if dtype == "floating" and _is_one_number(context.analysis.kind(array)):
            wrap(context, decisions, array, "value.item()")
            return False
        wrap(context, decisions, array, tensor_of(context, array, "get_default_dtype()"))
        decisions.mark(node, None, "numpy.ndarray", "review", _NOT_SEEN, "C2T320")
        return False
    tensor = tensor_of(context, array)
    if array is node.right:
        wrap(context, decisions, node.left, f"({name} := value)")
        wrap(context, decisions, array, f"{tensor}.to({name})")
        return False
    template = f"{tensor}.to({name} := variable) {sign} {name}"
    decisions.replace(node, template, {"variable": context.operand(node.right), "value": context.operand(array)})
    return True


def is_read_again(node: ast.expr) -> bool:
    """Whether reading an expression twice is reading it once: ``x``, ``self.x``, ``outputs['loss'][0]``."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and is_read_again(node.value)
    return isinstance(node, ast.Name) or isinstance(node, ast.Attribute) and is_read_again(node.value)


def _is_one_number(kind: Kind) -> bool:
    return all(isinstance(k, HostArray) and k.rank == 0 for k in options(kind))


def beside_unknown(
    context: Context, decisions: Decisions, side: ast.expr, kind: Kind, other: Kind, at: ast.expr
) -> None:
    """An array of NumPy's or CuPy's in a link, beside what nobody knows: beside CuPy's that is none of NumPy's.

    Beside what is a tensor for one caller and an array for another, it is a tensor where a model or a function of
    Chainer's gets the result: PyTorch takes both. So is it beside what a link keeps (``at``), of which nobody knows
    what it is: ``F.relu(y - getattr(self, name))``.
    """
    kinds = options(other)
    if isinstance(kind, HostArray) and any(isinstance(k, Tensor) for k in kinds):
        if all(isinstance(k, (Tensor, HostArray)) for k in kinds) and _goes_to_chainer(context, side):
            wrap(context, decisions, side, tensor_of(context, side))
        return
    cls = context.enclosing_class(side)
    if isinstance(kind, HostArray) and other == UNKNOWN and _is_kept(at) and _goes_to_chainer(context, side):
        if cls is not None and context.analysis.derives(cls, "chainer.Link"):
            wrap(context, decisions, side, tensor_of(context, side))
            wrap(context, decisions, at, tensor_of(context, at))
            return
    if UNKNOWN in options(other) and is_moved_to_device(kind) and cls is not None:
        if context.analysis.derives(cls, "chainer.Link"):
            wrap(context, decisions, side, tensor_of(context, side))


def _is_kept(node: ast.expr) -> bool:
    """``self.last``, ``getattr(self, 'state%d' % i)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and node.args:
        return isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _goes_to_chainer(context: Context, node: ast.expr) -> bool:
    """Whether an operation is an argument of a link, or of a function of Chainer's."""
    user: ast.AST | None = node
    while isinstance(user, (ast.BinOp, ast.UnaryOp)) or user is node:
        node, user = user, context.source.parents.get(user)
    if not isinstance(user, ast.Call) or node is user.func:
        return False
    return any(
        context.analysis.is_link(kind) or isinstance(kind, Ref) and kind.name.startswith("chainer.")
        for kind in options(context.kind(user.func))
    )


def _free_name(context: Context, node: ast.AST) -> str | None:
    """A name for the expression, in a function: nothing else there is called so, nor in a function inside of it."""
    scope = context.source.enclosing(node, ast.FunctionDef)
    inner = context.source.enclosing(node, ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.GeneratorExp)
    if scope is None or inner is not scope:
        return None
    taken = {getattr(n, "id", None) or getattr(n, "arg", None) for n in nodes_of(scope)}
    taken |= {word for n in nodes_of(scope) if isinstance(n, (ast.Global, ast.Nonlocal)) for word in n.names}
    return next((n for n in ("y", "out", "result") if n not in taken), None)
