"""Leaves out of the helpers what a project cannot reach: methods whose names nobody says, and parts marked so.

A method runs when somebody names it: the project, a helper that is vendored, or a library that calls what its
subclasses define (``forward``, ``step``, ``state_dict``: protocols.toml). So a trainer whose program saves nothing has
no code for snapshots. A name in a string counts, too, as ``getattr`` may be asked for it.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from chainer2torch.vendor.optional_parts import cut, is_said, marked, rows_of
from chainer2torch.vendor.rooms import Definition, Room
from chainer2torch.vendor.said_in_training import TRAINING_SAVED
from chainer2torch.vendor.said_of_constructors import named_by_position

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_Method = ast.FunctionDef | ast.AsyncFunctionDef
# what torch and ppe call when a state is saved or loaded, and the words of a program that does
_SAVING = frozenset({"state_dict", "load_state_dict", "_load_from_state_dict", "_save_to_state_dict"})
_ABOUT_SAVING = frozenset({"serialize", "serializers", "state_dict", "load_state_dict", "pickle", "resume"})
_PARTS_ABOUT_SAVING = ("snapshot", "npz", "hdf5", "checkpoint")
# what a program says that saves or resumes a whole training: more than the weights of a model. That a class of its
# own has a method `serialize` says nothing of it, while nobody calls one.
_ABOUT_WHOLE = frozenset({TRAINING_SAVED, "snapshot", "resume", "autoload", ".serialize", "pickle"})
_PARTS_OF_WHOLE = frozenset(
    {
        "Batches",
        "IteratorUpdater",
        "MultiprocessIterator",
        "MultistepShift",
        "Saved",
        "SerialIterator",
        "_Epochs",
        "_Shift",
    }
)
_EXTENSION = "helper.SavedExtension"  # it would have the empty state of other extensions without `Saved`
_Home = tuple[Room, Definition]
_Uses = Callable[[Room, Definition], Iterable[_Home]]


def saving(said: Iterable[str]) -> frozenset[str]:
    """The methods that save and load, where the project says something of it."""
    saves = any(word in _ABOUT_SAVING or any(part in word for part in _PARTS_ABOUT_SAVING) for word in said)
    return _SAVING if saves else frozenset()


def called_by_libraries(cls: ast.ClassDef) -> frozenset[str]:
    """The names of methods that a library calls on the objects of a class, other than to save them."""
    table = _protocols()
    is_callable = any(isinstance(child, _Method) and child.name == "__call__" for child in cls.body)
    names = table["every"] | table.get(cls.name, frozenset()) | (table["callable"] if is_callable else frozenset())
    return names - _SAVING


@functools.lru_cache(maxsize=1)
def _protocols() -> dict[str, frozenset[str]]:
    data = tomllib.loads(Path(__file__).with_name("protocols.toml").read_text(encoding="utf-8"))
    return {cls: frozenset(names) for cls, names in data.items()}


def trimmed(start: Iterable[_Home], said: Iterable[str], uses: _Uses) -> list[_Home]:
    """All definitions that ``start`` needs, without the methods that nobody names. ``said``: the project's words."""
    live = set(said)
    live |= saving(live)
    needed: dict[Definition, Room] = {definition: room for room, definition in start}
    cut: dict[Definition, Definition] = {}
    while True:
        before = len(live), len(needed)
        for definition, room in list(needed.items()):
            live.update(named_by_position(definition.node, {part for part, _ in _marked(definition)}, live))
            part = _without(definition, frozenset(_unnamed(definition, live)))
            if part is cut.get(definition):
                continue
            cut[definition] = part
            live |= part.said
            live.update(f"helper.{name}" for name in part.names)
            for used_room, used in uses(room, part):
                needed.setdefault(used, used_room)
        if (len(live), len(needed)) == before:
            return [(room, cut[definition]) for definition, room in needed.items()]


def _unnamed(definition: Definition, live: set[str]) -> Iterator[ast.stmt | ast.arg]:
    """The parts of a definition that may go: methods, and what is marked."""
    yield from (part for part, names in _marked(definition) if not is_said(names, live))
    yield from (method for method in _called_by_name(definition) if method.name not in live)
    if _PARTS_OF_WHOLE.intersection(definition.names) and not _saves_whole(live):
        yield from (method for method in _called_by_name(definition) if method.name in _SAVING & live)


def _saves_whole(said: Iterable[str]) -> bool:
    """Whether a program may save or resume a training: updaters and iterators are asked for their states only then."""
    words = frozenset(said)
    names = ("checkpoint", "snapshot") if _EXTENSION in words else ("checkpoint",)
    return any(word in _ABOUT_WHOLE or any(name in word for name in names) for word in words)


@functools.lru_cache(maxsize=4096)
def _called_by_name(definition: Definition) -> tuple[_Method, ...]:
    """The methods of a class that only run where somebody says their names."""
    if not isinstance(definition.node, ast.ClassDef):
        return ()
    called = called_by_libraries(definition.node)
    return tuple(
        method
        for method in definition.node.body
        if isinstance(method, _Method)
        and method.name not in called
        and not (method.name.startswith("__") and method.name.endswith("__"))
    )


@functools.lru_cache(maxsize=4096)
def _marked(definition: Definition) -> tuple[tuple[ast.stmt | ast.arg, list[str]], ...]:
    return tuple(marked(definition.node, definition.lines))


@functools.lru_cache(maxsize=4096)
def _without(definition: Definition, parts: frozenset[ast.stmt | ast.arg]) -> Definition:
    """A definition without some of its parts; the same one where it has none of them."""
    if not parts:
        return definition
    rows = {row for part in parts for row in rows_of(part, definition.lines)}
    return definition.without(cut(definition.node, parts), rows)
