"""``collections.namedtuple``: the class that it makes, and its tuples, whose fields are known one by one."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Dct, Kind, Lst, Method, NamedTuple, Tup
from chainer2torch.analysis.lattice import element_of, join_all

FACTORY = "collections.namedtuple"


def made(node: ast.Call) -> Kind:
    """The class that ``namedtuple('Batch', 'x t')`` makes; not known where the names are computed."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    field_names = node.args[1] if len(node.args) > 1 else given.get("field_names")
    if field_names is None or "rename" in given:
        return UNKNOWN
    try:
        names = ast.literal_eval(field_names)
    except ValueError:
        return UNKNOWN
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    is_plain = isinstance(names, (list, tuple)) and all(isinstance(n, str) and n.isidentifier() for n in names)
    return NamedTuple(tuple(names)) if is_plain and len(set(names)) == len(names) else UNKNOWN


def constructed(cls: NamedTuple, args: list[Kind], keywords: dict[str, Kind], rest: Kind | None) -> Kind:
    """A tuple of the class. ``rest`` is what more arguments may follow; a field that has a default is not known."""
    fields = dict(zip(cls.names, args)) | {name: kind for name, kind in keywords.items() if name in cls.names}
    return Tup(tuple(fields.get(name, rest or UNKNOWN) for name in cls.names), cls.names)


def attribute(receiver: Kind, name: str) -> Kind:
    """A field of a tuple; else a method of it, or of its class, or of another container."""
    if isinstance(receiver, Tup) and name in receiver.names:
        return receiver.items[receiver.names.index(name)]
    return Method(receiver, name)


def method_result(receiver: Tup | NamedTuple, name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind:
    """What ``_replace``, ``_asdict`` and ``_make`` give; others are methods of every tuple."""
    if name == "_make" and args:
        given = args[0]
        known = list(given.items) if isinstance(given, Tup) else []
        rest = element_of(given) if isinstance(given, Lst) else UNKNOWN
        return constructed(NamedTuple(receiver.names), known, {}, rest)
    if isinstance(receiver, Tup) and name == "_replace":
        items = tuple(keywords.get(field, kind) for field, kind in zip(receiver.names, receiver.items))
        return Tup(items, receiver.names)
    if isinstance(receiver, Tup) and name == "_asdict":
        return Dct(join_all(list(receiver.items)), tuple(zip(receiver.names, receiver.items)))
    return UNKNOWN
