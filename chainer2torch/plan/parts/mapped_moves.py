"""``map(cuda.to_gpu, data)`` of arrays: a list of tensors, where nobody asks the rest of it later."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Kind, Ref, Tensor, Tup, options
from chainer2torch.analysis.lattice import element_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import runs_backwards
from chainer2torch.rules.table import Row

_TO_GPU = "chainer.backends.cuda.to_gpu"
_OF_LIST = Ref("builtins.list")


def emit_mapped(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> bool:
    """Decides on ``to_gpu`` that ``map`` gets with arrays of the host or tensors; gives whether it did."""
    call = context.source.parents.get(node)
    if (
        row.name != _TO_GPU
        or context.choices.style != "native"
        or not isinstance(call, ast.Call)
        or context.kind(call.func) != Ref("builtins.map")
        or len(call.args) != 2
        or call.args[0] is not node
        or isinstance(call.args[1], ast.Starred)
        or not _of_arrays(context.kind(call.args[1]))
        or runs_backwards(context, call.args[1])
        or any(runs_backwards(context, item) for item in getattr(call.args[1], "elts", []))
    ):
        return False
    around = context.source.parents.get(call)
    listed = isinstance(around, ast.Call) and context.kind(around.func) == _OF_LIST and around.args == [call]
    moved = "[torch.as_tensor(item, device='cuda') for item in items]"
    if not listed and not _taken_at_once(around):
        moved = f"({moved[1:-1]})"
    decisions.replace(around if listed else call, moved, {"items": context.operand(call.args[1])})  # type: ignore[arg-type]
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note)
    return True


def _of_arrays(kind: Kind) -> bool:
    """Whether all that is gone through is an array: what is moved for itself."""
    parts = kind.items if isinstance(kind, Tup) else (element_of(kind),)
    return bool(parts) and all(isinstance(k, (HostArray, Tensor)) for part in parts for k in options(part))


def _taken_at_once(around: ast.AST | None) -> bool:
    """Whether all items are asked for where they are made: unpacked, or handed over one by one."""
    unpacked = isinstance(around, ast.Assign) and all(isinstance(t, (ast.Tuple, ast.List)) for t in around.targets)
    return unpacked or isinstance(around, ast.Starred)


__all__ = ["emit_mapped"]
