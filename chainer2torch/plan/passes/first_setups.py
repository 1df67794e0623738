"""``optimizer.setup((parameters, gradients))`` of the first versions: no model is there to take parameters from."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.optimizer_places import holds_no_model

_MESSAGE = (
    "it is set up with arrays and their gradients, as in the first versions of Chainer; make the arrays parameters "
    "(nn.Parameter), hand the optimizer a list of them, and let backward() fill their gradients"
)


def run(context: Context) -> Decisions:
    """Leaves such calls to a person."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "setup" or len(call.args) != 1:
            continue
        makers = options(context.kind(call.func.value))
        if any(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Optimizer") for k in makers):
            if holds_no_model(context.analysis, context.kind(call.args[0])):
                row = context.rules.rows.get("chainer.GradientMethod.setup")
                decisions.refine(call.func, row, "manual", _MESSAGE)
    return decisions
