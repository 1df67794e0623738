"""``net.head = L.Linear(3, 2)`` of an unknown ``net``: a link registers nothing outside of ``init_scope``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.native.unregistered import is_without_mode
from chainer2torch.plan.questions.registered import registered_before
from chainer2torch.plan.questions.scoped_functions import is_scope, run_inside

_PARAMETER = (Ref("chainer.Parameter"), Ref("chainer.variable.Parameter"))
_NOT_TRAINED = "assigned outside init_scope: a link neither trains nor saves it, as in Chainer"
_NOT_SWITCHED = "; neither do the train() and eval() of the model reach it"
_ASKED = "in Chainer registered inside init_scope, or by a FunctionSet, alone; here by every module"
_CODE = "C2T203"


def is_unknown_owner(context: Context, owner: ast.expr) -> bool:
    """Whether nothing is known of what gets an attribute, and it may be a link that does not register it."""
    return _is_unknown(context, owner) and not context.analysis.once(_says_function_set)


def _is_unknown(context: Context, owner: ast.expr) -> bool:
    return context.analysis.kind(owner) == UNKNOWN and context.imports_chainer and not context.migrated


def unknown_owner(
    context: Context, decisions: Decisions, node: ast.Assign | ast.AnnAssign, target: ast.Attribute
) -> None:
    """Keeps a link or parameter unregistered, if it is a link that gets it."""
    assert node.value is not None
    kind = context.analysis.kind(node.value)
    made = isinstance(node.value, ast.Call) and context.analysis.kind(node.value.func) in _PARAMETER
    if not _is_unknown(context, target.value) or not (made or context.analysis.is_link(kind)):
        return
    if any(is_scope(ancestor) for ancestor in context.source.ancestors(node)):
        return
    if registered_before(context, target, node.value):
        return
    row, symbol = context.rules.python["chainer.Link.__setattr__"], ast.unparse(target)
    inside, outside = run_inside(context.analysis, context.source, target.value)
    if inside and not outside:
        return
    if inside or context.analysis.once(_says_function_set):
        decisions.mark(target, row, symbol, "review", _ASKED, _CODE)
        return
    decisions.edit(
        node,
        ReplaceStatement(
            context.source.start(node),
            f"compat.set_unregistered(owner, '{target.attr}', value)",
            {"owner": context.operand(target.value), "value": context.operand(node.value)},
        ),
    )
    switched = made or all(isinstance(k, Inst) and is_without_mode(k) for k in options(kind))
    message = _NOT_TRAINED + ("" if switched else _NOT_SWITCHED)
    decisions.mark(target, row, symbol, "exact" if switched else "review", message, _CODE)


def _says_function_set(analysis: Analysis) -> bool:
    """Whether a file names the container of version 1 that registers what it is assigned."""
    return any("FunctionSet" in module.source.text for module in analysis.project.modules.values())


__all__ = ["is_unknown_owner", "unknown_owner"]
