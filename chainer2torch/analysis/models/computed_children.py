"""Children whose names are computed: ``self.add_link('fc%d' % i, link)``, and ``getattr(self, 'fc%d' % j)`` later.

What such a name begins and ends with tells the children of a class apart, those whose names stand in the source
(``self.fc1``) among them. They come out with the places where they may have been made, as those of a list of links do.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

from chainer2torch.analysis.interpreter import COMPUTED, Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Const, Dct, Inst, Kind, Tensor, Tup, options, scalar_type
from chainer2torch.analysis.lattice import join, join_all, unsure
from chainer2torch.analysis.models.link_lists import listed
from chainer2torch.analysis.module_index import ClassInfo

_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z])")
_FIELD = re.compile(r"\{[^{}]*\}")


@dataclasses.dataclass(frozen=True)
class _Names:
    """The names that an expression may give: what they begin and end with, and whether a number stands between."""

    begin: str
    end: str = ""
    number: bool = False

    @property
    def key(self) -> str:
        return f"{COMPUTED}{self.begin}{COMPUTED}{self.end}{COMPUTED}{'d' if self.number else ''}"

    @classmethod
    def of_key(cls, key: str) -> _Names:
        _, begin, end, number = key.split(COMPUTED)
        return cls(begin, end, bool(number))

    def has(self, name: str) -> bool:
        """Whether a name is one of them."""
        middle = name[len(self.begin) : len(name) - len(self.end)]
        fits = name == f"{self.begin}{middle}{self.end}" and middle != ""
        return fits and (middle.isdigit() or not self.number)

    def meets(self, other: _Names) -> bool:
        """Whether a name may be one of both."""
        short, long = sorted((self, other), key=lambda names: len(names.begin))
        more = long.begin[len(short.begin) :]
        if not long.begin.startswith(short.begin) or short.number and not short.end and not (more + "0").isdigit():
            return False
        return self.end.endswith(other.end) or other.end.endswith(self.end)


_PERSISTENTS = "?persistents"  # the summary of those whose names are computed
_ANY = _Names("")  # of a name of which nothing is known


def put(interpreter: Interpreter, receiver: Kind, name: ast.expr | None, child: Kind) -> None:
    """A link that becomes a child under a computed name."""
    if not isinstance(receiver, Inst) or not isinstance(receiver.cls, ClassInfo) or not interpreter.is_link(receiver):
        return
    if any(not isinstance(k, Inst) or not interpreter.is_link(k) for k in options(child)):
        return
    kind = join_all([listed(interpreter, k, False) for k in options(child)])
    for key in names_in_turn(interpreter, name) or [(_names(interpreter, name) or _ANY).key]:
        interpreter.set_attribute(receiver.cls, key, kind)


def taken(interpreter: Interpreter, receiver: Kind, name: ast.expr | None) -> Kind | None:
    """The children among which a computed name chooses; None where nothing is known of them."""
    wanted = _names(interpreter, name)
    if wanted is None or not isinstance(receiver, Inst) or not isinstance(receiver.cls, ClassInfo):
        return None
    if any(
        wanted.has(method) for c in interpreter.mro(receiver.cls) if isinstance(c, ClassInfo) for method in c.methods
    ):
        return None  # `getattr(self, 'loss_' + name)(y)`
    held: Kind | None = None
    for other, kind in _attributes(interpreter, receiver.cls):
        if other.startswith(COMPUTED):
            held = join(held, kind) if _Names.of_key(other).meets(wanted) else held
        elif wanted.has(other):
            if not all(isinstance(k, Inst) and interpreter.is_link(k) for k in options(kind)):
                return None
            held = join(held, join_all([listed(interpreter, k, False) for k in options(kind)]))
    return held


def persistents(interpreter: Interpreter, owner: Kind) -> Kind:
    """What else a computed name may find in a link: one of the arrays that it saves; it is not sure."""
    found: list[Kind] = []
    for link in options(owner):
        if not isinstance(link, Inst) or not interpreter.is_link(link):
            continue
        if isinstance(link.cls, ClassInfo):
            held = list(_attributes(interpreter, link.cls))
            found += [k for n, k in held if n == _PERSISTENTS or interpreter.is_buffer(link.cls, n)]
        for site in link.sites:
            interpreter.reads(site, COMPUTED)
            found += interpreter.objects.get(site, {}).values()
    return unsure(UNKNOWN, *(k for kind in found for k in options(kind) if isinstance(k, Tensor)))


def put_persistent(interpreter: Interpreter, receiver: Inst, kind: Kind) -> None:
    """An array that a link saves under a computed name."""
    if isinstance(receiver.cls, ClassInfo):
        interpreter.set_attribute(receiver.cls, _PERSISTENTS, kind)
    for site in () if isinstance(receiver.cls, ClassInfo) else receiver.sites:
        made = interpreter.objects.setdefault(site, {})
        new = join(made.get(_PERSISTENTS), kind)
        if new != made.get(_PERSISTENTS):
            made[_PERSISTENTS] = new
            interpreter.changed(site, COMPUTED)


def may_be_named(interpreter: Interpreter, node: ast.expr | None, name: str) -> bool:
    """Whether a computed name may be this one, as far as the text that computes it tells."""
    names = _names(interpreter, node)
    return names is None or names.has(name)


def numbered(interpreter: Interpreter, receiver: Kind | None, name: str) -> Kind | None:
    """``self.fc1`` of children that are put there as ``'fc%d' % i``."""
    if not isinstance(receiver, Inst) or not isinstance(receiver.cls, ClassInfo):
        return None
    held: Kind | None = None
    for other, kind in _attributes(interpreter, receiver.cls):
        if other.startswith(COMPUTED) and _Names.of_key(other).has(name):
            if _Names.of_key(other) == _ANY:
                return None  # a base that is not seen may have it
            held = join(held, kind)
    return held


def _attributes(interpreter: Interpreter, cls: ClassInfo) -> Iterator[tuple[str, Kind]]:
    """What a class and its bases of the project have, by name."""
    for owner in interpreter.mro(cls):
        if isinstance(owner, ClassInfo):
            interpreter.reads(owner, COMPUTED)
            yield from list(owner.attrs.items())


def _names(interpreter: Interpreter, node: ast.expr | None) -> _Names | None:
    """What is known of a computed name; None where it may begin with anything."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), node.right
        is_number = isinstance(right, ast.Call) and any(_is_int(interpreter, argument) for argument in right.args)
        found = _Names(left, "", is_number) if left else _names(interpreter, node.left)
        ends = _text(right)
        return found if found is None or not ends else dataclasses.replace(found, end=ends)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        found_all = list(_CONVERSION.finditer(_text(node.left)))
        return _between(_text(node.left), found_all, [one[1] in "di" for one in found_all])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text, given = _text(node.func.value), node.args
        if text.startswith("{}") and given and _text(given[0]):
            text, given = _text(given[0]) + text[2:], given[1:]
        return _between(text, list(_FIELD.finditer(text)), [_is_int(interpreter, argument) for argument in given])
    if isinstance(node, ast.JoinedStr) and node.values:
        inner = [_is_int(interpreter, part.value) for part in node.values if isinstance(part, ast.FormattedValue)]
        begin, end = _text(node.values[0]), _text(node.values[-1])
        return _Names(begin, end if len(node.values) > 1 else "", inner == [True]) if begin else None
    return None


def _between(text: str, parts: list[re.Match[str]], numbers: list[bool]) -> _Names | None:
    if not parts or not text[: parts[0].start()]:
        return None
    return _Names(text[: parts[0].start()], text[parts[-1].end() :], len(parts) == 1 and numbers == [True])


def _is_int(interpreter: Interpreter, node: ast.expr) -> bool:
    kind = interpreter.facts.get(node)
    return kind is not None and scalar_type(kind) == "int"


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def in_turn(interpreter: Interpreter, receiver: Kind, name: ast.expr) -> Kind | None:
    """The children that a loop over written names takes: ``for name in ('b1', 'b2'): h = getattr(self, name)(h)``."""
    if not isinstance(receiver, Inst) or not isinstance(receiver.cls, ClassInfo):
        return None
    texts = names_in_turn(interpreter, name)
    found = [interpreter.attribute(receiver, text) for text in texts or ()]
    kinds = [k for kind in found for k in options(kind)]
    if not all(isinstance(k, Inst) and interpreter.is_link(k) for k in kinds):
        return None
    return join_all([listed(interpreter, k, False) for k in kinds]) if kinds else None


def names_in_turn(interpreter: Interpreter, name: ast.expr | None) -> list[str] | None:
    """The texts that a loop gives to a name one after the other, where all of them are written; else None.

    ``for name in ('q', 'k')``, ``for name, size in [('a', 3), ('b', 4)]``, ``for i, name in enumerate(self.names)``,
    ``for name, size in sizes.items()``, and the same in a comprehension.
    """
    if not isinstance(name, ast.Name):
        return None
    for around in interpreter.module.source.ancestors(name):
        if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        loops = [around] if isinstance(around, ast.For) else getattr(around, "generators", ())
        for loop in loops:
            place = _place(loop.target, name.id)
            if place is not None:
                return _texts_of(interpreter, loop.iter, place)
    return None


def _place(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """Where a name stands in the target of a loop: ``()`` by itself, ``(1,)`` in ``i, name``."""
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    for i, part in enumerate(target.elts if isinstance(target, (ast.Tuple, ast.List)) else ()):
        inner = _place(part, name)
        if inner is not None:
            return (i, *inner)
    return None


def _texts_of(interpreter: Interpreter, values: ast.expr, place: tuple[int, ...]) -> list[str] | None:
    """The texts at a place of the values of a loop, where these are written out or known one by one."""
    called = values.func if isinstance(values, ast.Call) else None
    given = values.args if isinstance(values, ast.Call) else []
    if isinstance(called, ast.Name) and given:
        if called.id == "enumerate" and place[:1] == (1,):
            return _texts_of(interpreter, given[0], place[1:])
        if called.id == "zip" and place and place[0] < len(given):
            return _texts_of(interpreter, given[place[0]], place[1:])
        return _texts_of(interpreter, given[0], place) if called.id in ("sorted", "list", "reversed") else None
    if isinstance(called, ast.Attribute) and not given:
        is_key = place == {"items": (0,), "keys": ()}.get(called.attr)
        return _keys_of(interpreter.facts.get(called.value)) if is_key else None
    if isinstance(values, (ast.List, ast.Tuple)):
        return _all_texts([_at(node, place) for node in values.elts])
    kind = interpreter.facts.get(values)
    if isinstance(kind, Dct) and not place:
        return _keys_of(kind)
    return _all_texts([_kind_at(item, place) for item in kind.items]) if isinstance(kind, Tup) else None


def _keys_of(kind: Kind | None) -> list[str] | None:
    return _all_texts([key for key, _ in kind.items]) if isinstance(kind, Dct) else None


def _at(node: ast.expr, place: tuple[int, ...]) -> object:
    for i in place:
        if not isinstance(node, (ast.List, ast.Tuple)) or i >= len(node.elts):
            return None
        node = node.elts[i]
    return node.value if isinstance(node, ast.Constant) else None


def _kind_at(kind: Kind, place: tuple[int, ...]) -> object:
    for i in place:
        if not isinstance(kind, Tup) or i >= len(kind.items):
            return None
        kind = kind.items[i]
    return kind.value if isinstance(kind, Const) else None


def _all_texts(found: list[object]) -> list[str] | None:
    texts = [text for text in found if isinstance(text, str)]
    return texts if texts and len(texts) == len(found) else None
