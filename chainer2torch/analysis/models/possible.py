"""Values of which nothing is sure, but that a tensor or the shape of one may be among them.

A function gets an array of which nobody knows from one caller and a tensor from another; an attribute is put on an
object whose class nobody knows. What is computed with such a value may be a tensor as well.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from chainer2torch.analysis.interpreter import COMPUTED, Interpreter
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Perhaps,
    Ref,
    Tensor,
    Unknown,
    options,
)
from chainer2torch.analysis.lattice import join, join_all, says_more, unsure
from chainer2torch.analysis.models import array_operators
from chainer2torch.analysis.models.xp_modules import OF_UNKNOWN
from chainer2torch.analysis.module_index import ClassInfo

_ONE_BY_ONE = frozenset({"add", "append", "appendleft", "insert"})
_WITH_DEFAULT = frozenset({"get", "pop", "setdefault"})  # of a dictionary that nobody knows: `table.get(key, default)`
_FILLING = _ONE_BY_ONE | {"extend", "extendleft", "setdefault", "update"}
_OTHERS = "attributes of objects of unknown classes"
# they give what they get, or a part of it
_GIVING = ("builtins.", "copy.", "collections.", "functools.", "itertools.")


def put(interpreter: Interpreter, name: str, kind: Kind) -> None:
    """Notes what gets into an attribute of an object of a class that is not of the project: ``model.kept = x``."""
    old = interpreter.on_others.get(name)
    new = join(old, kind)
    if says_more(new, old):
        interpreter.on_others[name] = new
        interpreter.changed(_OTHERS, name)


def put_there(interpreter: Interpreter, found: Kind, name: str) -> Kind:
    """An attribute of such an object, of which nothing is known but that somebody may have put it there."""
    if not isinstance(found, Unknown):
        return found
    interpreter.reads(_OTHERS, name)
    return unsure(found, interpreter.on_others.get(name))


def table_of(interpreter: Interpreter, owner: Kind) -> Kind:
    """``vars(step)``, ``step.__dict__``: one of its attributes is under each key, and nobody knows which."""
    held = [kind for one in options(owner) for kind in attributes_of(interpreter, one)]
    return unsure(*map(Dct, held))


def attributes_of(interpreter: Interpreter, owner: Kind) -> Iterator[Kind]:
    """What is in the attributes of an object of a class of the project; those of links have names of their own."""
    if not isinstance(owner, Inst) or not isinstance(owner.cls, ClassInfo) or interpreter.is_link(owner):
        return
    for cls in interpreter.mro(owner.cls):
        if isinstance(cls, ClassInfo):
            interpreter.reads(cls, COMPUTED)
            yield from cls.attrs.values()


def attribute(interpreter: Interpreter, kind: Kind, name: str) -> Kind:
    """An attribute of a value that nobody knows, or of a function."""
    found = OF_UNKNOWN.get(name, UNKNOWN) if interpreter.imports_chainer() else UNKNOWN
    if isinstance(kind, Perhaps):
        found = unsure(interpreter.attribute(kind.known, name)) if isinstance(found, Unknown) else found
    return put_there(interpreter, found, name)


def item(interpreter: Interpreter, kind: Kind, node: ast.expr, index: Kind) -> Kind:
    """A part of a value that nobody knows."""
    return unsure(interpreter.item(kind.known, node, index)) if isinstance(kind, Perhaps) else UNKNOWN


def compared(a: Kind, b: Kind) -> Kind:
    """``a > b``"""
    found = array_operators.compared(a, b)
    return computed(a, b, compared) if isinstance(found, Unknown) else found


def computed(a: Kind, b: Kind, operator: Callable[[Kind, Kind], Kind]) -> Kind:
    """What an operator gives of two values one of which may be a tensor."""
    if not isinstance(a, Perhaps) and not isinstance(b, Perhaps):
        return UNKNOWN
    return unsure(*(operator(x, y) for x in options(_known(a)) for y in options(_known(b))))


def beside_array(a: Kind, b: Kind, operator: Callable[[Kind, Kind], Kind]) -> Kind | None:
    """``v - array`` of what may be a Variable: a Variable then, and an array of the host else. None: it is none."""
    perhaps, other = (a, b) if isinstance(a, Perhaps) else (b, a)
    if not isinstance(perhaps, Perhaps) or not isinstance(other, (HostArray, Tensor)):
        return None
    if not any(isinstance(k, Tensor) and not k.array for k in options(perhaps.known)):
        return None
    results = [operator(x, y) for x in options(_known(a)) for y in options(_known(b))]
    return unsure(UNKNOWN, other, *results) if isinstance(other, HostArray) else join_all([other, *results])


def fill(interpreter: Interpreter, target: ast.expr, held: Kind) -> None:
    """``box.items.append(x)``, ``table["loss"] = x`` of what nobody knows: it may hold this now."""
    before = interpreter.facts.get(target)
    if isinstance(before, Unknown) and isinstance(target, (ast.Name, ast.Attribute)):
        now = unsure(before, held)
        if says_more(now, before):
            interpreter.container_grown(target, now)


def called(
    interpreter: Interpreter,
    node: ast.Call,
    callee: Kind,
    args: Sequence[Kind],
    keywords: Mapping[str, Kind],
    found: Kind,
) -> Kind:
    """What a method of a tensor gives that may be one, and a function of Python's that gets such a value."""
    if isinstance(callee, Unknown) and isinstance(node.func, ast.Attribute) and node.func.attr in _ONE_BY_ONE and args:
        fill(interpreter, node.func.value, Lst(args[-1]))
    if isinstance(callee, Unknown) and isinstance(node.func, ast.Attribute) and node.func.attr in _WITH_DEFAULT:
        found = unsure(found, *args[1:2])
    if isinstance(callee, Perhaps):
        methods: list[Kind] = [
            kind
            for kind in options(callee.known)
            if isinstance(kind, Func) or isinstance(kind, Method) and kind.name not in _FILLING
        ]
        return unsure(found, *(interpreter.call(kind, list(args), dict(keywords), node) for kind in methods))
    given = any(isinstance(kind, Perhaps) for kind in (*args, *keywords.values()))
    if given and isinstance(callee, Ref) and callee.name.startswith(_GIVING):
        named = {name: _known(kind) for name, kind in keywords.items()}
        others = list(map(_known, args[1:]))
        rows = [[one, *others] for one in options(_known(args[0]))] if args else [[]]  # each for itself: `sum(v)`
        return unsure(found, *(interpreter.call(callee, row, named, node) for row in rows))
    return found


def _known(kind: Kind) -> Kind:
    return kind.known if isinstance(kind, Perhaps) else kind


__all__ = [
    "attribute",
    "attributes_of",
    "beside_array",
    "called",
    "compared",
    "computed",
    "fill",
    "item",
    "put",
    "put_there",
    "table_of",
]
