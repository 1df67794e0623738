"""Parameters that no optimizer changes: ``requires_grad_(False)`` in the place of ``disable_update()``.

Chainer computes their gradients all the same. Where those count, as in the norm of all gradients, a parameter gets a
mark, and the optimizers of the project heed it.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace, ReplaceStatement
from chainer2torch.plan.marks import freezes_by_marks
from chainer2torch.plan.native.concerns import is_native
from chainer2torch.plan.project_rules import has_short_optimizers
from chainer2torch.plan.questions import freezing
from chainer2torch.plan.questions.own_settings import OwnSettings, own_settings

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
        if node.attr in _ROWS and not freezing.is_own(context.analysis, context.module, node):
            row = context.rules.rows.get(_ROWS[node.attr])
            if row is not None:
                decisions.mark(node, row, row.name, "exact")
            if (own := own_settings(context.analysis, context.module, node)) is not None:
                _settle(context, decisions, node, own)
            else:
                _freeze(context, decisions, node, marks)
    return decisions


def _settle(context: Context, decisions: Decisions, node: ast.Attribute, own: OwnSettings) -> None:
    """``param.update_rule = SGDRule(lr=0.2)``."""
    operands = {"param": context.operand(node.value), "optimizer": Operand(code=own.optimizer.id)}
    operands.update({name: Operand(code=text) for name, text in own.defaults.items()})
    operands.update({name: context.operand(value) for name, value in own.given.items()})
    template = f"native.own_settings(optimizer, param, {', '.join(f'{name}={name}' for name in own.defaults)})"
    decisions.use(own.rule)
    row = context.rules.rows[_ROWS[freezing.RULE]]  # the class of a rule has none of its own
    decisions.mark(own.rule, row, row.name, "exact")
    decisions.edit(own.statement, ReplaceStatement(context.source.start(own.statement), template, operands))


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
        helper = "native.unfreeze" if freezing.releases(context.module, node) else "native.freeze"
        decisions.edit(statement, ReplaceStatement(place, f"{helper}([self])", operands))


__all__ = ["run"]
