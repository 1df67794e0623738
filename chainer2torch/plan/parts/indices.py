"""Indices of arrays that mean something else in PyTorch."""

from __future__ import annotations

import ast
from typing import TypeGuard

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Lst, Tensor, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.parts.host_values import is_torch_dtype, wrap

_CODE = "C2T320"
_WRITING = frozenset({"fill", "sort"})  # methods that change an array in place


def subscript(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    """Indices that mean something else in PyTorch: negative steps (an error), an integer beside an index array."""
    if is_torch_dtype(context.analysis.kind(node.slice)):  # a table of what is done for each dtype
        wrap(context, decisions, node.slice, "compat.numpy_dtype(value)")
        return
    kinds = options(context.analysis.kind(node.value))
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    held = isinstance(node.value, ast.Attribute) and node.value.attr in ("data", "array", "grad")
    reverses = isinstance(node.ctx, ast.Load) and any(isinstance(p, ast.Slice) and _is_negative(p.step) for p in parts)
    if reverses and kinds == (UNKNOWN,) and (_in_a_link(context, node) or held and context.imports_chainer):
        operands = {"x": context.operand(node.value)}
        indices = [_index(context, p, operands) for p in parts]
        index = indices[0] if len(parts) == 1 else f"({', '.join(indices)})"
        decisions.replace(node, f"compat.index_any(x, {index})", operands)
        _mark_read(context, decisions, node)
        return
    if not all(isinstance(k, Tensor) for k in kinds):
        return
    if not any(isinstance(p, ast.Slice) and _is_negative(p.step) for p in parts) and not _mixed(context, parts):
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
    plain = [p for p in parts if isinstance(p, ast.Slice) and p.lower is None and p.upper is None]
    if len(plain) == len(parts) and all(p.step is None or ast.unparse(p.step) == "-1" for p in plain):
        axes = tuple(i for i, p in enumerate(plain) if p.step is not None)
        decisions.replace(node, f"torch.flip(x, {axes})", {"x": context.operand(node.value)})
    else:
        operands = {"x": context.operand(node.value)}
        index = ", ".join(_index(context, p, operands) for p in parts)
        index = f"({index},)" if len(parts) == 1 else f"({index})"
        decisions.replace(node, f"compat.get_item(x, {index})", operands)
    _mark_read(context, decisions, node)


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
    name, function = parent.targets[0].id, context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        isinstance(n, ast.Subscript)
        and not isinstance(n.ctx, ast.Load)
        and _is_name(n.value, name)
        or isinstance(n, ast.AugAssign)
        and _is_name(n.target, name)
        or isinstance(n, ast.Attribute)
        and n.attr in _WRITING
        and _is_name(n.value, name)
        for n in nodes_of(function or context.source.tree)
    )


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
