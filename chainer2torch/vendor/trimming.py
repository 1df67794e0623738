"""Leaves out of the helpers what a project cannot reach: methods whose names nobody says.

A method runs when somebody names it: the project, a helper that is vendored, or a library that calls what its
subclasses define (``forward``, ``step``, ``state_dict``: protocols.toml). So a trainer whose program saves nothing has
no code for snapshots. A name in a string counts, too, as ``getattr`` may be asked for it.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from chainer2torch.vendor.rooms import Definition, Room

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_WORD = re.compile(r"[^\W\d]\w*")
_Method = ast.FunctionDef | ast.AsyncFunctionDef
# what torch and ppe call when a state is saved or loaded, and the words of a program that does
_SAVING = frozenset({"state_dict", "load_state_dict", "_load_from_state_dict", "_save_to_state_dict"})
_ABOUT_SAVING = frozenset({"serialize", "serializers", "state_dict", "load_state_dict", "pickle", "resume"})
_PARTS_ABOUT_SAVING = ("snapshot", "npz", "hdf5", "checkpoint")
_Home = tuple[Room, Definition]
_Uses = Callable[[Room, Definition], Iterable[_Home]]


def words(text: str) -> set[str]:
    """The names that a source text may mean: its words, also those in strings."""
    return set(_WORD.findall(text))


def protocols(said: Iterable[str]) -> frozenset[str]:
    """The names of methods that a library calls on the objects of its subclasses.

    Those that save and load are called only where the project says something of saving.
    """
    saves = any(word in _ABOUT_SAVING or any(part in word for part in _PARTS_ABOUT_SAVING) for word in said)
    return _protocols() if saves else _protocols() - _SAVING


@functools.lru_cache(maxsize=1)
def _protocols() -> frozenset[str]:
    data = tomllib.loads(Path(__file__).with_name("protocols.toml").read_text(encoding="utf-8"))
    return frozenset(name for names in data.values() for name in names)


def trimmed(start: Iterable[_Home], said: Iterable[str], uses: _Uses) -> list[_Home]:
    """All definitions that ``start`` needs, without the methods that nobody names. ``said``: the project's words."""
    live = set(said)
    live |= protocols(live)
    needed: dict[Definition, Room] = {definition: room for room, definition in start}
    cut: dict[Definition, Definition] = {}
    while True:
        before = len(live), len(needed)
        for definition, room in list(needed.items()):
            cut[definition] = part = _without(definition, _unnamed(definition, live))
            live |= part.said
            for used_room, used in uses(room, part):
                needed.setdefault(used, used_room)
        if (len(live), len(needed)) == before:
            return [(room, cut[definition]) for definition, room in needed.items()]


def _unnamed(definition: Definition, live: set[str]) -> frozenset[str]:
    """The methods of a class that may go."""
    return frozenset(
        method.name
        for method in _methods(definition.node)
        if method.name not in live and not (method.name.startswith("__") and method.name.endswith("__"))
    )


def _methods(node: ast.stmt) -> Iterator[_Method]:
    if isinstance(node, ast.ClassDef):
        yield from (child for child in node.body if isinstance(child, _Method))


@functools.lru_cache(maxsize=4096)
def _without(definition: Definition, names: frozenset[str]) -> Definition:
    """A class without some of its methods; the same definition where it has none of them."""
    if not names:
        return definition
    assert isinstance(definition.node, ast.ClassDef)
    body = [child for child in definition.node.body if not (isinstance(child, _Method) and child.name in names)]
    return definition.with_body(body or [ast.Pass()], [m for m in _methods(definition.node) if m.name in names])
