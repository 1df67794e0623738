"""Optimizers of models that have a parameter in several places: PyTorch's step it once, a declared difference."""

from __future__ import annotations

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.project_rules import steps_shared_once
from chainer2torch.plan.questions.shared_links import setups

_DIFFERENCE = "shared-parameters"


def run(context: Context) -> Decisions:
    """Says it where an optimizer gets its model."""
    decisions = Decisions(context)
    if "setup" not in context.source.text or not steps_shared_once(context.analysis, context.module):
        return decisions
    for node in setups(context.analysis, context.module):
        row = context.rules.rows["chainer.GradientMethod.setup"]
        decisions.mark(node, row, row.name, "exact", difference=_DIFFERENCE)
    return decisions
