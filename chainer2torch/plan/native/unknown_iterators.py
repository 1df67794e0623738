"""Iterators of a kind that nobody knows, which may be Chainer's: they have no length, and keep their counters."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching

_ITERATOR = "chainer.dataset.Iterator"


def may_be_left(context: Context, iterator: ast.expr) -> bool:
    """``valid if isinstance(valid, Iterator) else SerialIterator(valid, 4)``: of a kind that nobody knows.

    The one that is made is not seen to be read here: it keeps its counters, which pytorch-pfn-extras does not take. So
    does one of a class that the function gets: ``def fit(data, iterator_class=SerialIterator)``.
    """
    if context.kind(iterator) != UNKNOWN:
        return False
    branches = reaching(context, iterator) if isinstance(iterator, ast.Name) else [iterator]
    values = [v for b in branches for v in ((b.body, b.orelse) if isinstance(b, ast.IfExp) else (b,))]
    return any(
        isinstance(kind, Inst)
        and context.analysis.derives(kind.cls, _ITERATOR)
        or isinstance(kind, Ref)
        and context.analysis.derives(context.rules.canonical(kind.name), _ITERATOR)
        for value in values
        for kind in (*options(context.kind(value)), *options(_class_by_default(context, value)))
    )


def _class_by_default(context: Context, value: ast.expr) -> Kind:
    """What a function makes something of where it is handed nothing else: the default of ``iterator_class(data)``."""
    function = context.source.enclosing(value, ast.FunctionDef)
    if (
        not isinstance(value, ast.Call)
        or not isinstance(value.func, ast.Name)
        or not isinstance(function, ast.FunctionDef)
    ):
        return UNKNOWN
    a = function.args
    by_place = [*a.posonlyargs, *a.args][-len(a.defaults) :] if a.defaults else []
    pairs = [*zip(by_place, a.defaults, strict=True), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    return next((context.kind(d) for p, d in pairs if d is not None and p.arg == value.func.id), UNKNOWN)


__all__ = ["may_be_left"]
