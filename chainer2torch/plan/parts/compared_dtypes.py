"""Comparisons of dtypes: torch has its own, which equal none of NumPy's."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Kind, Ref
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import is_torch_dtype, wrap

_OF_NO_TENSOR = frozenset({"builtins.object", "builtins.str", "builtins.bytes", "numpy.object_", "numpy.str_"})


def compare_dtypes(context: Context, decisions: Decisions, sides: list[ast.expr]) -> None:
    """``x.dtype == np.float32``: both sides become dtypes of torch, which never equal those of NumPy."""
    parts = [part for side in sides for part in (side.elts if isinstance(side, (ast.Tuple, ast.List)) else [side])]
    kinds = [context.analysis.kind(part) for part in parts]
    if any(map(is_torch_dtype, kinds)):
        for part, kind in zip(parts, kinds, strict=True):
            if not is_torch_dtype(kind):
                _as_torch_dtype(context, decisions, part, kind)


def is_no_dtype(context: Context, node: ast.Compare) -> bool:
    """``x.dtype is np.float32``: a dtype is no class of numbers in NumPy, and none in PyTorch."""
    kinds = [context.analysis.kind(side) for side in node.comparators]
    numbers = all(isinstance(kind, Ref) and kind.name.startswith(("builtins.", "numpy.")) for kind in kinds)
    return isinstance(node.ops[0], (ast.Is, ast.IsNot)) and numbers


def _as_torch_dtype(context: Context, decisions: Decisions, node: ast.expr, kind: Kind) -> None:
    dtype = dtype_of(kind)
    if dtype is not None:
        decisions.replace(node, f"torch.{dtype}", {})
    elif not isinstance(node, ast.Constant) and not _is_torch_already(kind) and not _is_of_no_tensor(kind):
        wrap(context, decisions, node, "compat.torch_dtype(value)")


def _is_torch_already(kind: Kind) -> bool:
    """Whether this is ``torch.float16``: the file is half migrated, by hand or by an earlier run."""
    return isinstance(kind, Ref) and kind.name.rpartition(".")[0] == "torch"


def _is_of_no_tensor(kind: Kind) -> bool:
    """Whether no tensor has this dtype: ``x.dtype != object`` says that of itself."""
    return isinstance(kind, Ref) and kind.name in _OF_NO_TENSOR


__all__ = ["compare_dtypes", "is_no_dtype"]
