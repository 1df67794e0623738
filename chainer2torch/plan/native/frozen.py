"""Parameters that no optimizer changes: ``requires_grad_(False)`` in the place of ``disable_update()``.

Chainer computes their gradients all the same. Where those count, as in the norm of all gradients, a parameter gets a
mark, and the optimizers of the project heed it.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Replace, ReplaceStatement
from chainer2torch.plan.native.concerns import is_native
from chainer2torch.plan.project_rules import freezes_by_marks, has_short_optimizers
from chainer2torch.plan.questions import freezing

_ROWS = {freezing.SWITCH: "chainer.Link.disable_update", freezing.RULE: "chainer.Parameter.update_rule"}
_FLAG = "chainer.UpdateRule.enabled"


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
        template = "native.freeze(self.parameters())" if marks else "self.requires_grad_(False)"
        decisions.edit(outer, Replace(context.source.span(outer), template, operands))
        return
    assert isinstance(outer, ast.Attribute)
    decisions.mark(outer, context.rules.rows[_FLAG], _FLAG, "exact")
    if not marks:
        decisions.replace(outer, "self.requires_grad", operands)
    elif isinstance(outer.ctx, ast.Load):
        decisions.replace(outer, "(not hasattr(self, 'is_frozen'))", operands)
    else:
        statement = context.source.parents[outer]
        edit = ReplaceStatement(context.source.start(statement), "native.freeze([self])", operands)
        decisions.edit(statement, edit)


__all__ = ["run"]
