"""The kinds of a rule's parameters at a call."""

from __future__ import annotations

import ast
import functools

from chainer2torch.analysis.kinds import UNKNOWN, Const, Dct, Kind, Tup
from chainer2torch.analysis.lattice import join_all
from chainer2torch.rules.table import Row


def bind_kinds(row: Row | None, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None) -> dict[str, Kind]:
    """The kinds of a rule's parameters at a call: what is passed, and the literal defaults of what is not."""
    if row is None or row.signature is None:
        return dict(keywords)
    values = [receiver, *args] if receiver is not None and row.signature.is_method else list(args)
    bound: dict[str, Kind] = {}
    for parameter in row.signature.parameters:
        if parameter.kind == "positional" and values:
            bound[parameter.name] = values.pop(0)
        elif parameter.name in keywords:
            bound[parameter.name] = keywords[parameter.name]
        elif parameter.kind == "args":
            bound[parameter.name] = Tup(tuple(v for v in values if v is not None))
            values = []
        elif parameter.kind == "kwargs":
            others = [p.name for p in row.signature.parameters]
            items = tuple((name, kind) for name, kind in keywords.items() if name not in others)
            bound[parameter.name] = Dct(join_all([kind for _, kind in items]) if items else UNKNOWN, items)
        elif parameter.default is not None:
            bound[parameter.name] = default_kind(parameter.default)
    return bound


@functools.lru_cache(maxsize=4096)
def default_kind(text: str) -> Kind:
    """The kind of a default that is written as a literal."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return UNKNOWN
    if isinstance(value, tuple):
        return Tup(tuple(Const(v) for v in value))
    return Const(value) if not isinstance(value, (list, dict, set)) else UNKNOWN
