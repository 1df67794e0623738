"""Names that are asked for by text: those of a module of Chainer's, which tell a version, and those of links that have
another name in torch.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.context import Context
from chainer2torch.rules.row import Row

STATISTICS = frozenset({"avg_mean", "avg_var"})
OF_LINKS = STATISTICS | {"W", "b", "gamma", "beta"}
RENAMED = frozenset({"N", "decay", "dilate", "ignore_label", "in_size", "ksize", "out_size", "pad"})
BY_OTHER_NAMES = OF_LINKS | RENAMED


def is_name_of_chainer(context: Context, call: ast.Call) -> bool:
    """``hasattr(F, 'average')``, which asks for a version of Chainer: the last one has all names of today's rules."""
    callee = context.analysis.kind(call.func)
    if callee != Ref("builtins.hasattr") or len(call.args) != 2 or not isinstance(call.args[1], ast.Constant):
        return False
    module = context.reference(call.args[0])
    if module is None:
        return False
    name = f"{module}.{call.args[1].value!s}"
    row = context.rules.rows.get(name)
    if row is None or row.state == "manual":  # `chainer.global_config`, whose members have rules
        return name.count(".") == 1 and any(known.startswith(f"{name}.") for known in context.rules.rows)
    return not is_of_older(row)


def is_of_older(row: Row) -> bool:
    """Whether a rule is for a name that the last version has no more."""
    return "eras/" in row.home.replace("\\", "/")
