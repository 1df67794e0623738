"""Which arguments of a call are arrays: not those for parameters that take positions and shapes."""

from __future__ import annotations

import ast
import itertools

from chainer2torch.analysis.kinds import Kind, Ref
from chainer2torch.plan.context import Context
from chainer2torch.rules.signature import BindError

# parameters that take positions and shapes
_NO_ARRAYS = frozenset(
    {
        "axes",
        "axis",
        "indices_or_sections",
        "ksize",
        "pad_width",
        "repeats",
        "reps",
        "shape",
        "slices",
    }
)


def tensor_arguments(context: Context, call: ast.Call, callee: Kind) -> list[ast.expr]:
    """The arguments without those for parameters that take positions and shapes rather than arrays."""
    arguments = [*call.args, *(k.value for k in call.keywords)]
    row = context.rules.rows.get(callee.name) if isinstance(callee, Ref) else None
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    if row is None or row.signature is None or starred:
        names = [p.name for p in row.signature.parameters] if row is not None and row.signature is not None else []
        positions = [a for name, a in zip(names, _before_stars(call)) if name in _NO_ARRAYS]
        without = [*positions, *(k.value for k in call.keywords if k.arg is None or starred and k.arg in _NO_ARRAYS)]
        return [a for a in arguments if a not in without]
    if any(k.arg is None for k in call.keywords):  # `F.softmax_cross_entropy(y, t, **options)`
        names = [p.name for p in row.signature.parameters]
        placed = [*zip(names, call.args), *((k.arg, k.value) for k in call.keywords if k.arg is not None)]
        return [node for name, node in placed if name not in _NO_ARRAYS]
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError:
        return []
    given = (*bound.given.items(), *bound.extra_keywords)
    return [node for name, node in given if name not in _NO_ARRAYS] + list(bound.extra_args)


def _before_stars(call: ast.Call) -> list[ast.expr]:
    """The arguments that are given by position, up to the first starred one."""
    return list(itertools.takewhile(lambda a: not isinstance(a, ast.Starred), call.args))


def for_nothing(context: Context, call: ast.Call, callee: Kind) -> list[ast.expr]:
    """The arguments of a function of Chainer's for parameters that are None by default: ``class_weight=weights``."""
    row = context.rules.rows.get(callee.name) if isinstance(callee, Ref) else None
    if row is None or row.signature is None:
        return []
    names = [p.name for p in row.signature.parameters]
    none = {p.name for p in row.signature.parameters if p.default == "None"}
    given = [*zip(names, call.args), *((k.arg, k.value) for k in call.keywords if k.arg is not None)]
    return [value for name, value in given if name in none]
