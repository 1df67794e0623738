"""Indices of arrays that mean something else in PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from chainer2torch.analysis.kinds import NONE, UNKNOWN, HostArray, Lst, Ref, Tensor, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.host_arrays import comes_from_host, runs_backwards
from chainer2torch.plan.parts.host_values import is_held_by_anything, is_torch_dtype, to_host, wrap
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.perhaps import may_be_tensor
from chainer2torch.rules.table import Row

_CODE = "C2T320"
_WRITING = frozenset({"fill", "sort"})  # methods that change an array in place


def subscript(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    """Indices that mean something else in PyTorch: negative steps (an error), an integer beside an index array."""
    if is_torch_dtype(context.analysis.kind(node.slice)):  # a table of what is done for each dtype
        wrap(context, decisions, node.slice, "compat.numpy_dtype(value)")
        return
    kinds = options(context.analysis.kind(node.value))
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(k, HostArray) for k in kinds) or kinds == (UNKNOWN,) and comes_from_host(context, node.value):
        _tensors_of_one(context, decisions, node, parts)
    held = isinstance(node.value, ast.Attribute) and node.value.attr in ("data", "array", "grad")
    held = held or is_held_by_anything(context, node.value)
    if any(isinstance(k, Tensor) for k in kinds) or kinds == (UNKNOWN,) and (held or _in_a_link(context, node)):
        _backward_arrays(context, decisions, parts)
    reverses = isinstance(node.ctx, ast.Load) and any(isinstance(p, ast.Slice) and _is_negative(p.step) for p in parts)
    several = any(isinstance(k, Tensor) for k in kinds) and not all(isinstance(k, Tensor) for k in kinds)
    of_array = isinstance(node.slice, ast.Tuple) and _is_given_to_lambda(context, node.value)
    unknown = kinds == (UNKNOWN,) and (
        _in_a_link(context, node)
        or (held or of_array)
        and context.imports_chainer
        or _meets_tensor(context, node)
        or may_be_tensor(context, node.value)
    )
    if reverses and (several or unknown):
        operands = {"x": context.operand(node.value)}
        indices = [_index(context, p, operands) for p in parts]
        index = indices[0] if len(parts) == 1 else f"({', '.join(indices)})"
        template = f"compat.index_any(x, {index})"
        if turned := _turned(context, parts):
            axis, front = turned
            template = f"compat.reversed_along(x, {axis}){front}" if axis else f"compat.reversed_along(x){front}"
        decisions.replace(node, template, operands)
        _mark_read(context, decisions, node)
        return
    if not all(isinstance(k, Tensor) for k in kinds):
        return
    if not any(isinstance(p, ast.Slice) and _is_negative(p.step) for p in parts) and not _mixed(context, parts):
        return
    if _numbers_as_arrays(context, decisions, parts):
        name = "__getitem__" if isinstance(node.ctx, ast.Load) else "__setitem__"
        decisions.mark(node, None, f"numpy.ndarray.{name}", "exact", "", _CODE)
        return
    if not isinstance(node.ctx, ast.Load):
        decisions.mark(
            node,
            None,
            "numpy.ndarray.__setitem__",
            "manual",
            "assignment through an index that PyTorch reads in another way; index with arrays only",
            _CODE,
        )
        return
    plain = [p for p in parts if isinstance(p, ast.Slice) and (_is_full(p) or _is_turned(p))]
    if len(plain) == len(parts) and all(p.step is None or _is_turned(p) for p in plain):
        axes = tuple(i for i, p in enumerate(plain) if p.step is not None)
        decisions.replace(node, f"torch.flip(x, {axes})", {"x": context.operand(node.value)})
    elif turned := _turned(context, parts):
        axis, front = turned
        decisions.replace(node, f"torch.flip(x, ({axis},)){front}", {"x": context.operand(node.value)})
    else:
        operands = {"x": context.operand(node.value)}
        index = ", ".join(_index(context, p, operands) for p in parts)
        index = f"({index},)" if len(parts) == 1 else f"({index})"
        decisions.replace(node, f"compat.get_item(x, {index})", operands)
    _mark_read(context, decisions, node)


def _is_given_to_lambda(context: Context, value: ast.expr) -> bool:
    """``lambda v: v[:, ::-1]`` in a table of functions: nothing but an array takes several indices."""
    around = context.source.enclosing(value, ast.Lambda, ast.FunctionDef)
    names = [a.arg for a in around.args.args] if isinstance(around, ast.Lambda) else []
    return isinstance(value, ast.Name) and value.id in names


def _meets_tensor(context: Context, node: ast.Subscript) -> bool:
    """Whether a part of what some call gives as an array of the host stands beside a tensor in an operation."""
    parent = context.source.parents.get(node)
    if not isinstance(parent, ast.BinOp) or not comes_from_host(context, node.value):
        return False
    other = parent.right if parent.left is node else parent.left
    return all(isinstance(k, Tensor) for k in options(context.analysis.kind(other)))


def _tensors_of_one(context: Context, decisions: Decisions, node: ast.Subscript, parts: Sequence[ast.expr]) -> None:
    """``names[pred]`` of an array of the host: NumPy takes a tensor of one element for a number, a mask of one for 0
    or 1, and the axis is lost.
    """
    for part in parts:
        kinds = options(context.analysis.kind(part))
        is_mask = isinstance(part, ast.Compare) and _may_be_tensor(context, part.left)
        if (any(isinstance(k, Tensor) and k.rank != 0 for k in kinds) or is_mask) and (
            to_host(context, decisions, part) or wrap(context, decisions, part, "compat.to_host(value)")
        ):
            decisions.mark(node, None, "numpy.ndarray.__getitem__", "exact", "", _CODE)


def _may_be_tensor(context: Context, node: ast.expr) -> bool:
    """Whether a value in a method of a link is unknown, or a tensor for all that is known."""
    kinds = options(context.analysis.kind(node))
    return any(isinstance(k, Tensor) or k == UNKNOWN and _in_a_link(context, node) for k in kinds)


def _backward_arrays(context: Context, decisions: Decisions, parts: Sequence[ast.expr]) -> None:
    """``h[order[::-1]]``: as an index, too, PyTorch takes no array that runs backwards."""
    for part in parts:
        if all(isinstance(k, HostArray) for k in options(context.kind(part))) and runs_backwards(context, part):
            wrap(context, decisions, part, "value.copy()")


def get_item(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``F.get_item(x, (..., 0, slice(1, 3)))``: ``x[..., 0, 1:3]``, where NumPy and PyTorch read the index alike."""
    call = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
        return
    given = dict(zip(("x", "slices"), call.args)) | {str(k.arg): k.value for k in call.keywords}
    index = given["slices"] if given.keys() == {"x", "slices"} and len(call.args) + len(call.keywords) == 2 else None
    listed = index.elts if isinstance(index, (ast.Tuple, ast.List)) else [index] if index is not None else []
    operands: dict[str, Operand] = {}
    parts = [_plain_part(context, part, operands) for part in listed]
    whole = isinstance(index, ast.List) and all(scalar_type(context.kind(part)) == "int" for part in listed)
    axes = [i for i, part in enumerate(parts) if part is not None and not _keeps_axis(part)]
    # integers that stand apart: with an array among them NumPy would move axes
    apart = any(_counts(context, part) for part in listed) and len(axes) <= axes[-1] - axes[0]
    tuples = isinstance(index, ast.Tuple) or len(axes) < len(parts)
    if not parts or None in parts or whole or apart or not tuples:
        emit_call(context, decisions, call, row, node)
        return
    decisions.replace(call, f"x[{', '.join(map(str, parts))}]", {"x": context.operand(given["x"]), **operands})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state)


def _keeps_axis(part: str) -> bool:
    return part in ("...", "None") or ":" in part


def _plain_part(context: Context, part: ast.expr, operands: dict[str, Operand]) -> str | None:
    """A part of an index as it stands between brackets; None if it may be an array, or counts backwards."""
    if _is_ellipsis(context, part) or _is_new_axis(context, part):
        return "..." if _is_ellipsis(context, part) else "None"
    if isinstance(part, ast.Call) and context.kind(part.func) == Ref("builtins.slice"):
        ends = part.args
        step = ends[2] if len(ends) == 3 else None
        forward = step is None or isinstance(step, ast.Constant) and (step.value is None or type(step.value) is int)
        if part.keywords or not 1 <= len(ends) <= 3 or not forward or any(isinstance(e, ast.Starred) for e in ends):
            return None
        first, last = (None, ends[0]) if len(ends) == 1 else ends[:2]
        texts = [_end(context, first, operands), _end(context, last, operands)]
        return ":".join([*texts, *([_end(context, step, operands)] if step is not None else [])])
    if scalar_type(context.kind(part)) == "int" or _counts(context, part):
        return _index(context, part, operands)
    return None


def _counts(context: Context, part: ast.expr) -> bool:
    """``size.height - 1``: a position, as far as one can tell. (An array of integers would mean the same in torch.)"""
    if not isinstance(part, ast.BinOp) or not isinstance(part.op, (ast.Add, ast.Sub)):
        return False
    return context.kind(part) == UNKNOWN and isinstance(part.right, ast.Constant) and type(part.right.value) is int


def _end(context: Context, end: ast.expr | None, operands: dict[str, Operand]) -> str:
    if end is None or isinstance(end, ast.Constant) and end.value is None:
        return ""
    return _index(context, end, operands)


def _turned(context: Context, parts: Sequence[ast.expr]) -> tuple[int, str] | None:
    """Of an index such as ``[None, :, ::-1]``: the axis that is turned, and the new axes in front as an index."""
    new = [_is_new_axis(context, part) for part in parts]
    first = new.index(False)
    axes = [i for i, p in enumerate(parts) if isinstance(p, ast.Slice) and p.step is not None]
    if any(new[first:]) or len(axes) != 1:
        return None
    for i, part in enumerate(parts[first:], first):
        if i in axes:
            if not _is_turned(part):
                return None
        elif not _is_full(part) and not _is_ellipsis(context, part):
            return None
    behind = any(_is_ellipsis(context, part) for part in parts[first : axes[0]])
    axis = axes[0] - len(parts) if behind else axes[0] - first
    front = "[" + ", ".join(["None"] * first) + "]" if first else ""
    return axis, front


def _is_full(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is None and part.upper is None


def _is_turned(part: ast.expr) -> bool:
    """``::-1``, also said with its first place."""
    return isinstance(part, ast.Slice) and ast.unparse(part) in ("::-1", "-1::-1")


def _is_ellipsis(context: Context, part: ast.expr) -> bool:
    named = isinstance(part, ast.Name) and part.id == "Ellipsis" and not isinstance(context.kind(part), Tensor)
    return named or isinstance(part, ast.Constant) and part.value is ...


def _is_new_axis(context: Context, part: ast.expr) -> bool:
    return context.kind(part) in (NONE, Ref("numpy.newaxis"))


def _mark_read(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    if _is_written_into(context, node):
        decisions.mark(
            node,
            None,
            "numpy.ndarray.__getitem__",
            "review",
            "a view in NumPy, a copy here: what is written "
            "into it does not reach the array; write into the array itself",
            _CODE,
        )
    elif _is_changed_behind(context, node):
        decisions.mark(
            node,
            None,
            "numpy.ndarray.__getitem__",
            "review",
            "a view in NumPy, a copy here: it does not show what is written into the array later; take it behind that",
            _CODE,
        )
    else:
        decisions.mark(node, None, "numpy.ndarray.__getitem__", "exact", "", _CODE)


def _is_written_into(context: Context, node: ast.Subscript) -> bool:
    """Whether something is put into what an index gives: at once, or under its name in the same function."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not all(
        isinstance(p, (ast.Slice, ast.Constant)) or scalar_type(context.analysis.kind(p)) == "int" for p in parts
    ):
        return False  # with an index array it is a copy in NumPy, too
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Subscript):
        return parent.value is node and not isinstance(parent.ctx, ast.Load)
    if not isinstance(parent, ast.Assign) or len(parent.targets) > 1 or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Attribute) and parent.attr in _WRITING
    return bool(_writes(context, node, parent.targets[0].id))


def _writes(context: Context, node: ast.AST, name: str) -> list[ast.AST]:
    """What writes into the array of a name, in the function around a node."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        n
        for n in nodes_of(function or context.source.tree)
        if isinstance(n, ast.Subscript)
        and not isinstance(n.ctx, ast.Load)
        and _is_name(n.value, name)
        or isinstance(n, ast.AugAssign)
        and _is_name(n.target, name)
        or isinstance(n, ast.Attribute)
        and n.attr in _WRITING
        and _is_name(n.value, name)
    ]


def _is_changed_behind(context: Context, node: ast.Subscript) -> bool:
    """Whether the array of ``b = a[:, ::-1]`` is written into behind it, and ``b`` is read behind that."""
    parent = context.source.parents.get(node)
    if not isinstance(parent, ast.Assign) or len(parent.targets) > 1 or not isinstance(node.value, ast.Name):
        return False
    target, start = parent.targets[0], context.source.start
    if not isinstance(target, ast.Name) or target.id == node.value.id:
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    writes = [start(n) for n in _writes(context, node, node.value.id) if start(n) > start(parent)]
    reads = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == target.id]
    return any(start(n) > min(writes) for n in reads if isinstance(n.ctx, ast.Load)) if writes else False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _in_a_link(context: Context, node: ast.AST) -> bool:
    """Whether a value of unknown kind stands where most are tensors: in a method of a link."""
    cls = context.enclosing_class(node)
    return cls is not None and context.analysis.derives(cls, "chainer.Link")


def _mixed(context: Context, parts: list[ast.expr]) -> bool:
    """Whether an integer and an index array stand together with a slice: NumPy puts the indexed axes first."""
    kinds = [context.analysis.kind(p) for p in parts if not isinstance(p, ast.Slice)]
    return (
        any(isinstance(p, ast.Slice) for p in parts)
        and any(scalar_type(k) == "int" for k in kinds)
        and any(isinstance(k, (Tensor, HostArray, Lst)) for k in kinds)
    )


def _numbers_as_arrays(context: Context, decisions: Decisions, parts: Sequence[ast.expr]) -> bool:
    """``x[b, :, i, j]``: beside arrays NumPy reads a number as an array of one, ``x[[b], :, i, j]``.

    Arrays without axes, masks of one number and ``...`` are other cases.
    """
    rest = [p for p in parts if not isinstance(p, ast.Slice)]
    kinds = {p: options(context.analysis.kind(p)) for p in rest}
    numbers = [p for p in rest if all(scalar_type(k) == "int" for k in kinds[p])]
    arrays = [k for p in rest if p not in numbers for k in kinds[p]]
    steps = [p.step for p in parts if isinstance(p, ast.Slice) and p.step is not None]
    if not numbers or not arrays or not all(isinstance(s, ast.Constant) for s in steps):
        return False
    if not all(isinstance(k, (Tensor, HostArray)) and k.rank and k.dtype != "bool" for k in arrays):
        return False
    for number in numbers:
        decisions.wrap(number, "[value]")
    return True


def _is_negative(step: ast.expr | None) -> TypeGuard[ast.UnaryOp]:
    return isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub)


def _index(context: Context, part: ast.expr | None, operands: dict[str, Operand]) -> str:
    """An index as text of a template; what may have edits of its own becomes one of its operands."""
    if part is None or isinstance(part, ast.Constant) or _is_negative(part) and isinstance(part.operand, ast.Constant):
        return ast.unparse(part) if part else "None"
    if isinstance(part, ast.Slice):
        return f"slice({', '.join(_index(context, p, operands) for p in (part.lower, part.upper, part.step))})"
    name = f"index_{len(operands)}"
    operands[name] = context.operand(part)
    return name
