"""Which names a module of Chainer's has: a test for one of them is a test for a version."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.context import Context
from chainer2torch.rules.row import Row


def is_name_of_chainer(context: Context, call: ast.Call) -> bool:
    """``hasattr(F, 'average')``, which asks for a version of Chainer: the last one has all names of today's rules."""
    callee = context.analysis.kind(call.func)
    if callee != Ref("builtins.hasattr") or len(call.args) != 2 or not isinstance(call.args[1], ast.Constant):
        return False
    module = context.reference(call.args[0])
    row = context.rules.rows.get(f"{module}.{call.args[1].value!s}") if module is not None else None
    return row is not None and not is_of_older(row) and row.state != "manual"


def is_of_older(row: Row) -> bool:
    """Whether a rule is for a name that the last version has no more."""
    return "eras/" in row.home.replace("\\", "/")
