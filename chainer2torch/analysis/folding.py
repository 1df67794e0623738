"""Operators on literals, and on tuples of known length: what they give is known before the program runs."""

from __future__ import annotations

import ast
import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Const, Dct, Kind, Lst, Scalar, Tup, scalar_type
from chainer2torch.analysis.lattice import element_of, join, join_all

_MAX_REPEATED = 16


def added(a: Tup | Lst, b: Tup | Lst) -> Kind:
    """``a + b`` of lists or tuples."""
    if isinstance(a, Tup) and isinstance(b, Tup):
        return Tup(a.items + b.items, sized=a.sized or b.sized)
    return Lst(join(element_of(a), element_of(b)), a.sized or b.sized)


def repeated(kind: Kind, times: Kind) -> Kind:
    """``(3,) * 2``."""
    if isinstance(kind, Tup) and isinstance(times, Const) and type(times.value) is int and times.value <= _MAX_REPEATED:
        return Tup(kind.items * times.value, sized=kind.sized)
    return Lst(element_of(kind), isinstance(kind, Tup) and kind.sized) if scalar_type(times) == "int" else UNKNOWN


def row(items: list[Kind]) -> Tup:
    """A tuple; where it holds a text, its shapes are tuples after migration (plan/parts/written_values.py)."""
    if any(scalar_type(kind) == "str" for kind in items):
        items = [dataclasses.replace(kind, sized=False) if isinstance(kind, (Lst, Tup)) else kind for kind in items]
    return Tup(tuple(items))


def table(pairs: Sequence[tuple[Kind | None, Kind]]) -> Dct:
    """``{'a': x, **other}``: the values of another one, whose key is None, may stand in the place of earlier ones."""
    items: dict[Any, Kind] = {}
    values = []
    for key, kind in pairs:
        values.append(kind)
        if isinstance(key, Const):
            items[key.value] = kind
        elif key is None:
            values[-1] = kind.element if isinstance(kind, Dct) else UNKNOWN
            known = dict(kind.items) if isinstance(kind, Dct) else dict.fromkeys(items, UNKNOWN)
            items |= {k: join(items.get(k, BOTTOM), one) for k, one in known.items()}
    return Dct(join_all(values) if values else BOTTOM, tuple(items.items()))


_FOLDS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def fold(op: ast.operator, a: Const, b: Const) -> Kind:
    """``2 * 3``: the literal that an operator makes of two."""
    numbers = (int, float)
    operation = _FOLDS.get(type(op))
    if operation is not None and isinstance(a.value, numbers) and isinstance(b.value, numbers):
        try:
            return Const(operation(a.value, b.value))
        except (ZeroDivisionError, OverflowError):  # another value will stand there when it runs
            return Scalar("float" if isinstance(op, ast.Div) or float in (type(a.value), type(b.value)) else "int")
    if isinstance(a.value, str):
        return Scalar("str")
    return UNKNOWN
