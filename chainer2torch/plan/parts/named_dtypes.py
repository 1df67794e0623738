"""``self.dtype == np.float32`` of an unknown dtype: that of a tensor is PyTorch's, which equals none of NumPy's."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Ref, Tensor, options
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap

# attributes that a NumPy dtype has and a torch dtype lacks
OF_DTYPES = frozenset({"kind", "type", "char", "name", "str", "num"})
_AT_RUN_TIME = "(compat.numpy_dtype(value) if isinstance(value, torch.dtype) else value)"
_AS_LIST = (ast.List, ast.Set, ast.Tuple)


def compared_by_name(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """Compares a value that is called a dtype with dtypes of NumPy as one of these."""
    sides = [node.left, *node.comparators]
    asked = [side for side in sides if _may_be_of_tensor(context, side)]
    rest = [side for side in sides if side not in asked]
    others = [part for side in rest for part in (side.elts if isinstance(side, _AS_LIST) else [side])]
    if asked and others and all(_is_of_numpy(context, other) for other in others):
        for side in asked:
            wrap(context, decisions, side, _AT_RUN_TIME)


def member_by_name(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``dtype.kind`` of a dtype that nobody knows."""
    if node.attr in OF_DTYPES and _may_be_of_tensor(context, node.value):
        wrap(context, decisions, node.value, _AT_RUN_TIME)


def handed_by_name(context: Context, decisions: Decisions, node: ast.expr) -> bool:
    """``np.issubdtype(dtype, np.integer)``: NumPy refuses the dtype of a tensor."""
    return _may_be_of_tensor(context, node) and wrap(context, decisions, node, _AT_RUN_TIME)


def _may_be_of_tensor(context: Context, node: ast.expr) -> bool:
    """Whether a name or attribute is called a dtype, nobody knows it, and a tensor's dtype gets about in the file."""
    if isinstance(node, ast.Attribute):
        name = node.attr if isinstance(node.value, ast.Name) and node.value.id == "self" else ""
    else:
        name = node.id if isinstance(node, ast.Name) else ""
    named = name.lower().endswith("dtype") and context.analysis.kind(node) == UNKNOWN
    known = named and context.imports_chainer and not context.migrated
    if isinstance(node, ast.Attribute) and not _is_kept(context, node):
        return False
    return known and context.ask(_hands_on_dtypes, context.source.tree)


def _is_kept(context: Context, node: ast.Attribute) -> bool:
    """Whether a class of the file keeps something under that name: what cases of a test have there is NumPy's."""
    return node.attr in context.source.kept


def _hands_on_dtypes(context: Context, tree: ast.Module) -> bool:
    """Whether the file assigns, returns or hands on the dtype of a tensor, or of what nobody knows."""
    return any(
        node.attr == "dtype"
        and isinstance(node.ctx, ast.Load)
        and isinstance(context.source.parents.get(node), (ast.Assign, ast.Call, ast.keyword, ast.Return, ast.Tuple))
        and any(k == UNKNOWN or isinstance(k, Tensor) for k in options(context.analysis.kind(node.value)))
        for node in context.source.of(ast.Attribute)
    )


def _is_of_numpy(context: Context, node: ast.expr) -> bool:
    """Whether a value is a dtype of NumPy, or one of its classes of numbers, or the name of a dtype."""
    kind = context.analysis.kind(node)
    return dtype_of(kind) is not None or isinstance(kind, Ref) and kind.name.startswith("numpy.")


__all__ = ["OF_DTYPES", "compared_by_name", "handed_by_name", "member_by_name"]
