"""``model['encoder']`` of a value that is not known here, where a Chain of the project has a child of that name."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part


def unknown_item(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    """A module has no subscripts, a dictionary has: which of them it is turns out at run time."""
    name = node.slice
    if not isinstance(node.ctx, ast.Load) or not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return
    if UNKNOWN not in options(context.kind(node.value)) or name.value not in context.analysis.once(_names_of_children):
        return
    operands = {"chain": context.operand(node.value), "name": context.operand(name)}
    with decisions.provided(free=((Part.EDIT, node),)):
        decisions.replace(node, "compat.chain_item(chain, name)", operands)


def _names_of_children(analysis: Analysis) -> frozenset[str]:
    """What Chains of the project call that may be a link."""
    return frozenset(
        name
        for cls in analysis.classes.values()
        if analysis.derives(cls, "chainer.Chain")
        for name, kind in cls.attrs.items()
        if any(analysis.is_link(k) or k == UNKNOWN for k in options(kind))
    )


__all__ = ["unknown_item"]
