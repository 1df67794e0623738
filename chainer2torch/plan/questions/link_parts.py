"""The links that a link holds, by the places where they are made."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Dct, Inst, Kind, Lst, Ref, Tup, options
from chainer2torch.analysis.module_index import ClassInfo

_Place = tuple[object, int]
_ADDING = frozenset({"__init__", "add_link", "append", "extend", "insert", "setattr", "__setattr__", "add_module"})


def are_parts(analysis: Facts, kind: Kind, holders: Iterable[Kind]) -> bool:
    """Whether all that a value may be are links that one of the holders keeps in an attribute, at any depth."""
    links = [one for one in options(kind) if isinstance(one, Inst) and analysis.derives(one.cls, "chainer.Link")]
    if not links or UNKNOWN in options(kind):
        return False
    held = analysis.once(_Held)
    found = frozenset[_Place]().union(*(held.by(one.cls) for holder in holders for one in objects_in(holder)))
    return all(_is_among(link, found) for link in links)


def _is_among(link: Inst, found: frozenset[_Place]) -> bool:
    """Whether a link is one of those found: made at the same place, or of the same class of the project."""
    if isinstance(link.cls, ClassInfo):
        return any(cls == link.cls and (site == link.site or 0 in (site, link.site)) for cls, site in found)
    return bool(link.site) and (link.cls, link.site) in found


class _Held:
    """What objects of a class keep in attributes, at any depth: asked of the same classes again and again."""

    def __init__(self, analysis: Facts):
        self._analysis = analysis
        self._known: dict[str | ClassInfo, frozenset[_Place]] = {}

    def by(self, cls: str | ClassInfo) -> frozenset[_Place]:
        """The class and the place of each object that one of this class keeps; of others' classes none is known."""
        if cls not in self._known:
            found: set[_Place] = set()
            self._collect(cls, found)
            self._known[cls] = frozenset(found)
        return self._known[cls]

    def _collect(self, cls: str | ClassInfo, found: set[_Place]) -> None:
        for owner in self._analysis.mro(cls) if isinstance(cls, ClassInfo) else ():
            for value in owner.attrs.values() if isinstance(owner, ClassInfo) else ():
                new = [part for part in objects_in(value) if (part.cls, part.site) not in found]
                found.update((part.cls, part.site) for part in new)
                for part in new:
                    self._collect(part.cls, found)


def objects_in(kind: Kind, depth: int = 4) -> Iterator[Inst]:
    """The objects that a value is, or that a container holds."""
    for one in options(kind) if depth else ():
        items: tuple[Kind, ...] = ()
        if isinstance(one, Tup):
            items = one.items
        elif isinstance(one, Lst):
            items = (one.element,)
        elif isinstance(one, Dct):
            items = (one.element, *(item for _, item in one.items))
        elif isinstance(one, Inst):
            yield one
        for item in items:
            yield from objects_in(item, depth - 1)


def is_registered(analysis: Analysis, link: Inst) -> bool:
    """Whether some link may hold one of this class as a child, which gives it a name."""
    return any(cls in analysis.mro(link.cls) or link.cls in analysis.mro(cls) for cls in analysis.once(_children))


def _children(analysis: Analysis) -> frozenset[str | ClassInfo]:
    """The classes of what links keep in attributes, and of what is handed to those of Chainer's, or added."""
    kinds = [
        kind
        for cls in analysis.classes.values()
        if analysis.derives(cls, "chainer.Link")
        for kind in cls.attrs.values()
    ]
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            callee, name = analysis.kind(call.func), getattr(call.func, "attr", getattr(call.func, "id", ""))
            of_library = isinstance(callee, Ref) and analysis.is_link(Inst(callee.name))
            if of_library or name in _ADDING:
                given = [*call.args, *(keyword.value for keyword in call.keywords)]
                kinds += [analysis.kind(one.value if isinstance(one, ast.Starred) else one) for one in given]
    return frozenset(one.cls for kind in kinds for one in objects_in(kind) if analysis.derives(one.cls, "chainer.Link"))


__all__ = ["are_parts", "is_registered", "objects_in"]
