"""Parameters that no optimizer changes: ``requires_grad_(False)`` in the place of ``disable_update()``.

Chainer computes their gradients all the same. Where those count, as in the norm of all gradients, a parameter gets a
mark, and the optimizers of the project heed it.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Replace, ReplaceStatement
from chainer2torch.plan.marks import freezes_by_marks
from chainer2torch.plan.native.concerns import is_native
from chainer2torch.plan.project_rules import has_short_optimizers
from chainer2torch.plan.questions import freezing

_ROWS = {
    freezing.SWITCH: "chainer.Link.disable_update",
    freezing.RELEASE: "chainer.Link.enable_update",
    freezing.RULE: "chainer.Parameter.update_rule",
}
_FLAG = "chainer.UpdateRule.enabled"
_HOOK = "chainer.UpdateRule.add_hook"


def run(context: Context) -> Decisions:
    """Every place of the file that freezes parameters or asks for that."""
    decisions = Decisions(context)
    if not is_native(context) or not has_short_optimizers(context.analysis, context.module):
        return decisions
    marks = freezes_by_marks(context.analysis, context.module)
    for node in context.source.of(ast.Attribute):
        if node.attr in _ROWS and not freezing.is_own(context.analysis, node):
            row = context.rules.rows.get(_ROWS[node.attr])
            if row is not None:
                decisions.mark(node, row, row.name, "exact")
            _freeze(context, decisions, node, marks)
    return decisions


def _freeze(context: Context, decisions: Decisions, node: ast.Attribute, marks: bool) -> None:
    operands = {"self": context.operand(node.value)}
    outer = context.source.parents[node]
    if isinstance(outer, ast.Call):
        release = node.attr == freezing.RELEASE
        helper = "native.unfreeze(self.parameters())" if release else "native.freeze(self.parameters())"
        template = helper if marks else f"self.requires_grad_({release})"
        decisions.edit(outer, Replace(context.source.span(outer), template, operands))
        return
    assert isinstance(outer, ast.Attribute)
    if freezing.is_hook(context.module, node):
        call = context.source.parents[outer]
        assert isinstance(call, ast.Call)
        decisions.mark(outer, context.rules.rows[_HOOK], _HOOK, "exact")
        operands["hook"] = context.operand(call.args[0])
        edit = Replace(context.source.span(call), "native.hook_parameter(self, hook)", operands)
        decisions.edit(call, edit)
        return
    decisions.mark(outer, context.rules.rows[_FLAG], _FLAG, "exact")
    if not marks:
        decisions.replace(outer, "self.requires_grad", operands)
    elif isinstance(outer.ctx, ast.Load):
        decisions.replace(outer, "(not hasattr(self, 'is_frozen'))", operands)
    else:
        statement = context.source.parents[outer]
        place = context.source.start(statement)
        decisions.edit(statement, ReplaceStatement(place, "native.freeze([self])", operands))


__all__ = ["run"]
