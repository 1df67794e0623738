"""``self.W = chainer.Parameter(w).reshape(n, m)``: what a link keeps is computed from a parameter, or is the parameter.

Chainer's ``reshape``, ``broadcast_to`` and ``cast`` give a variable itself where nothing changes: then the parameter is
registered, and trained. Else the link keeps a graph that each ``backward()`` runs through, which PyTorch frees.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_PARAMETERS = frozenset({"chainer.Parameter", "chainer.parameter.Parameter"})
_MESSAGE = (
    "the module keeps what is computed from this parameter, and not the parameter: no optimizer gets it (Chainer "
    "registers it where a reshape, cast or broadcast changes nothing). Make a parameter of the final value"
)


def run(context: Context) -> Decisions:
    """Leaves such parameters to a person."""
    decisions = Decisions(context)
    for statement in context.source.of(ast.Assign):
        cls = context.enclosing_class(statement)
        if (
            cls is None
            or not context.analysis.derives(cls, "chainer.Link")
            or not any(map(_is_kept, statement.targets))
        ):
            continue
        made = _computed_from(context, statement.value)
        if made is not None and made is not statement.value:
            name = next(k.name for k in options(context.kind(made.func)) if isinstance(k, Ref))
            decisions.refine(made.func, context.rules.rows.get(name), "review", _MESSAGE)
    return decisions


def _is_kept(target: ast.expr) -> bool:
    """``self.W``."""
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"


def _computed_from(context: Context, node: ast.expr) -> ast.Call | None:
    """The call that makes the parameter from which functions and operators compute a value; None: there is none."""
    if isinstance(node, ast.BinOp):
        return _computed_from(context, node.left) or _computed_from(context, node.right)
    if isinstance(node, ast.UnaryOp):
        return _computed_from(context, node.operand)
    if isinstance(node, ast.Subscript):
        return _computed_from(context, node.value)
    if not isinstance(node, ast.Call):
        return None
    names = {k.name for k in options(context.kind(node.func)) if isinstance(k, Ref)}
    if names & _PARAMETERS:
        return node
    if any(name.startswith("chainer.functions.") for name in names):
        return next(filter(None, (_computed_from(context, argument) for argument in node.args)), None)
    if isinstance(node.func, ast.Attribute) and not names:
        return _computed_from(context, node.func.value)
    return None
