"""The links that a link holds, by the places where they are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import UNKNOWN, Dct, Inst, Kind, Lst, Tup, options
from chainer2torch.analysis.module_index import ClassInfo

_Place = tuple[object, int]


def are_parts(analysis: Facts, kind: Kind, holders: Iterable[Kind]) -> bool:
    """Whether all that a value may be are links that one of the holders keeps in an attribute, at any depth."""
    links = [one for one in options(kind) if isinstance(one, Inst) and analysis.derives(one.cls, "chainer.Link")]
    if not links or UNKNOWN in options(kind):
        return False
    found: set[_Place] = set()
    for holder in holders:
        _collect(analysis, holder, found)
    return all(_is_among(link, found) for link in links)


def _is_among(link: Inst, found: set[_Place]) -> bool:
    """Whether a link is one of those found: made at the same place, or of the same class of the project."""
    if isinstance(link.cls, ClassInfo):
        return any(cls == link.cls and (site == link.site or 0 in (site, link.site)) for cls, site in found)
    return bool(link.site) and (link.cls, link.site) in found


def _collect(analysis: Facts, kind: Kind, found: set[_Place]) -> None:
    for one in objects_in(kind):
        if isinstance(one.cls, ClassInfo):
            for cls in analysis.mro(one.cls):
                for value in cls.attrs.values() if isinstance(cls, ClassInfo) else ():
                    new = [part for part in objects_in(value) if (part.cls, part.site) not in found]
                    found.update((part.cls, part.site) for part in new)
                    for part in new:
                        _collect(analysis, part, found)


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


__all__ = ["are_parts", "objects_in"]
