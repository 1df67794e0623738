"""Values that are an array at times and a Variable at others: both are tensors here."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Tensor, options
from chainer2torch.plan.context import Context


def is_fed_arrays(context: Context, node: ast.expr) -> bool:
    """Whether it is an array of the device on some ways of the program, and a Variable on others."""
    return any(isinstance(k, Tensor) and k.either and not k.array for k in options(context.analysis.kind(node)))


__all__ = ["is_fed_arrays"]
