"""Whole numbers in the place of a parameter's array: ``layer.b.data = np.arange(3)``.

Chainer's parameter then holds whole numbers. PyTorch's, which may get a gradient, refuse them.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.floating_values import is_floating
from chainer2torch.plan.questions.asked_names import OF_LINKS

_MESSAGE = "PyTorch's parameters hold floating numbers and refuse these whole ones; convert them if that is meant"
_WHOLE = frozenset({"bool", "int8", "int16", "int32", "int64", "uint8"})
_WALKS = frozenset({"params", "namedparams"})


def run(context: Context) -> Decisions:
    """Marks such statements."""
    decisions = Decisions(context)
    if not context.imports_chainer or context.migrated:
        return decisions
    for node in context.source.of(ast.Assign):
        kinds = options(context.kind(node.value))
        if not all(isinstance(kind, (HostArray, Tensor)) and kind.dtype in _WHOLE for kind in kinds):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in ("data", "array"):
                if _is_parameter(context, target.value):
                    row = context.rules.rows.get(f"chainer.Variable.{target.attr}")
                    decisions.refine(target, row, "review", _MESSAGE)
    return decisions


def _is_parameter(context: Context, node: ast.expr) -> bool:
    """``layer.W``, ``p`` in ``for p in model.params()``; in the faithful style every Variable requires a gradient."""
    if context.choices.style == "faithful" and is_floating(context, node):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr in OF_LINKS and node.attr not in ("avg_mean", "avg_var")
    if not isinstance(node, ast.Name):
        return False
    loops = [around for around in context.source.ancestors(node) if isinstance(around, ast.For)]
    return any(
        any(isinstance(n, ast.Name) and n.id == node.id for n in nodes_of(loop.target))
        and any(isinstance(n, ast.Attribute) and n.attr in _WALKS for n in nodes_of(loop.iter))
        for loop in loops
    )
