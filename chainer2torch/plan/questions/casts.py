"""Arrays that are cast where they are made: ``xp.zeros(shape).astype('f')`` is ``torch.zeros(shape, dtype=...)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Tensor
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.plan.context import Context

# their values are the same in each dtype; `full` and `arange` compute with theirs
_MADE = frozenset(f"xp.Module.{name}" for name in ("zeros", "ones", "empty", "eye", "identity"))


def cast_behind(context: Context, call: ast.Call, row_name: str) -> ast.expr | None:
    """The dtype to which an array is cast right where a call makes it; None: it is not, or nobody knows to which."""
    if row_name not in _MADE or context.choices.style != "native":
        return None
    method = context.source.parents.get(call)
    if not isinstance(method, ast.Attribute) or method.attr != "astype":
        return None
    cast = context.source.parents.get(method)
    if not isinstance(cast, ast.Call) or cast.func is not method:
        return None
    if len(cast.args) != 1 or cast.keywords or any(keyword.arg in ("dtype", None) for keyword in call.keywords):
        return None
    made = context.kind(call)
    known = isinstance(made, Tensor) and made.array and dtype_of(context.kind(cast.args[0])) is not None
    return cast.args[0] if known else None


__all__ = ["cast_behind"]
