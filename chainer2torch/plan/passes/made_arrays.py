"""Arrays that are made to become tensors at once: ``chainer.Variable(np.zeros(3, np.float32))``."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import replacement
from chainer2torch.plan.questions.made_tensors import made_tensor


def run(context: Context) -> Decisions:
    """Decides on the calls of NumPy that PyTorch's own functions replace."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        assert isinstance(call, ast.Call)
        found = made_tensor(context, call)
        if found is not None:
            decisions.edit(call, replacement(context, call, found.question, found.template))
    return decisions
