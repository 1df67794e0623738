"""Builds ``chainer_compat.py``: the helpers that a migrated project uses, as one readable module.

The source text of each helper is copied from the rooms in ``chainer2torch/compat/`` (or ``chainer2torch/native/``)
together with everything it uses; nothing is imported, so that migrating needs no torch.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.version import __version__
from chainer2torch.vendor.choices import choices, has_choices
from chainer2torch.vendor.imports import import_blocks, imports_of, in_one_spelling
from chainer2torch.vendor.rooms import Definition, Import, Piece, Room, VendorError, read_room
from chainer2torch.vendor.said_of_left_names import LEFT_AT_IMPORT, taken_by_others
from chainer2torch.vendor.short_forms import SHORT_FORMS, long_beside, long_where
from chainer2torch.vendor.trimming import trimmed

MODULE_NAME = "chainer_compat"
_FROM_PACKAGE = re.compile(rf"^[ \t]*from[ \t]+(\w[\w.]*)[ \t]+import[ \t]+{MODULE_NAME}\b", re.MULTILINE)
FILE_NAME = MODULE_NAME + ".py"
_TOOL = Path(__file__).resolve().parents[1]
_COMPAT = _TOOL / "compat"
NATIVE = _TOOL / "native"
FAITHFUL = "faithful_"  # what the names of helpers in compat/ begin with, where native/ has the same ones
_NATIVE_ROOMS = "native."  # what the names of rooms in native/ begin with, beside those of compat/
# what packages are installed as, where that is not the name of the module
_DISTRIBUTIONS = {"ignite": "pytorch-ignite", "pytorch_pfn_extras": "pytorch-pfn-extras", "PIL": "Pillow"}
_MARK = "Written by chainer2torch"
_NATIVE_MARK = "for code in the native style"
_HAS_FIELDS = re.compile(r"\b(NamedTuple|TypedDict|Protocol|dataclass)\b")  # classes that keep annotations
_IMPORTS_CHAINER = re.compile(r"^ +import chainer$", re.MULTILINE)  # rooms for projects that are half way

__all__ = [
    "FAITHFUL",
    "FILE_NAME",
    "MODULE_NAME",
    "NATIVE",
    "VendorError",
    "build",
    "helper_names",
    "is_ours",
    "modules_of_helpers",
    "names_used",
    "names_used_in",
    "short_helper_names",
    "top_modules",
]


def build(
    names: Iterable[str],
    folder: Path | None = None,
    *,
    style: str = "faithful",
    said: Iterable[str] | None = None,
    settings: Iterable[str] = (),
) -> str:
    """The text of a ``chainer_compat.py`` that defines ``names``; the same names give the same text.

    In the native style a name means the short helper of ``native/`` where there is one. ``folder`` holds other rooms
    than ours. ``said`` are the words of the project's texts: methods whose names nobody says are left out; None keeps
    all. ``settings`` are those of its settings files, which name what is taken from tables. VendorError when a name is
    not a helper.
    """
    module = _module(folder, style)
    wanted = sorted(set(names))
    said = None if said is None else set(said)
    module = module.with_long(long_where({*wanted, *(said or ())}))
    if said is None:
        return module.render(wanted)
    said |= choices(module.tables(wanted), said, set(settings))
    said |= {LEFT_AT_IMPORT} if taken_by_others(said) else set()
    found = module.trimmed(wanted, said)
    if long := long_beside(found.homes) & found.native:
        found = module.with_long(long).trimmed(wanted, said)
    return found.render(wanted)


@functools.lru_cache(maxsize=64)  # many programs of a repository use the same
def modules_of_helpers(names: frozenset[str], style: str) -> frozenset[str]:
    """The top-level modules that helpers need, whole and with all that they use."""
    module = _module(None, style)
    return module.with_long(long_where(names)).modules_of(sorted(names))


@functools.lru_cache(maxsize=8)
def helper_names(folder: Path | None = None, *, style: str = "faithful") -> frozenset[str]:
    """All public helpers that ``build`` knows."""
    replaced = {FAITHFUL + name for name in SHORT_FORMS}  # nothing that is written today names them
    return frozenset(name for name in _module(folder, style).homes if name[0] != "_" and name not in replaced)


def short_helper_names() -> frozenset[str]:
    """The public helpers of ``native/``."""
    return frozenset(name for name in _module(None, "native").native if name[0] != "_")


def is_ours(text: str) -> bool:
    """Whether a ``chainer_compat.py`` was written by this tool (and so may be written again)."""
    return _MARK in _head(text)


def style_of(text: str) -> str:
    """The style of the project that a ``chainer_compat.py`` of ours was written for."""
    return "native" if _NATIVE_MARK in _head(text) else "faithful"


def _head(text: str) -> str:
    """The words at the top of a text, whichever of its lines they stand in."""
    return " ".join(text[:1000].split())


def is_helper_module(path: str, text: str) -> bool:
    """Whether a file is a ``chainer_compat.py`` of this tool's: nothing in it is ever rewritten."""
    return path.rpartition("/")[2] == FILE_NAME and is_ours(text)


def package_named(text: str) -> str:
    """The package from which a migrated file imports ``chainer_compat``; empty when it lies in the import root."""
    found = _FROM_PACKAGE.search(text) if MODULE_NAME in text else None
    return found[1] if found else ""


def names_used(text: str, style: str = "faithful") -> frozenset[str]:
    """The helpers that a migrated file takes from ``chainer_compat``; empty when it does not parse."""
    if MODULE_NAME not in text:
        return frozenset()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    return names_used_in(Nodes(nodes_of(tree)), style)


def names_used_in(nodes: Nodes, style: str = "faithful") -> frozenset[str]:
    """The same of the nodes of a file."""
    aliases: set[str] = set()
    found: set[str] = set()
    for node in nodes.of(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == MODULE_NAME:
            found.update(item.name for item in node.names)
        else:
            aliases.update(item.asname or item.name for item in node.names if item.name == MODULE_NAME)
    if not aliases and not found:
        return frozenset()
    for attribute in nodes.of(ast.Attribute):
        if isinstance(attribute.value, ast.Name) and attribute.value.id in aliases:
            found.add(attribute.attr)
    return frozenset(found & helper_names(style=style))


def top_modules(nodes: Nodes) -> frozenset[str]:
    """The top-level modules that a file imports, from its nodes."""
    names: list[str] = []
    for node in nodes.of(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif not node.level:
            names.append(node.module or "")
    return frozenset(name.split(".")[0] for name in names)


@functools.lru_cache(maxsize=8)
def _module(folder: Path | None, style: str) -> _Module:
    brief = style == "native" and folder is None  # what a project gets should be short
    rooms = _rooms(folder or _COMPAT, brief=brief)
    if brief:
        rooms = (*_rooms(NATIVE, _NATIVE_ROOMS, brief=True), *rooms)
    return _Module((folder or _COMPAT).name, rooms)


def _rooms(folder: Path, prefix: str = "", *, brief: bool = False) -> tuple[Room, ...]:
    paths = sorted((path for path in folder.rglob("*.py") if path.name != "__init__.py"), key=lambda path: path.stem)
    package = f"{_TOOL.name}.{folder.name}"
    return tuple(read_room(path, package, prefix, brief=brief) for path in paths)


class _Module:
    """The dependency closure over the rooms, and its text."""

    def __init__(self, folder: str, rooms: tuple[Room, ...], native: frozenset[str] = frozenset()) -> None:
        self.folder = folder
        self.rooms = {room.name: room for room in rooms}
        self.definitions = {
            (room.name, name): (room, definition)
            for room in rooms
            for definition in room.definitions
            for name in definition.names
        }
        self._used: dict[tuple[Definition, bool], list[tuple[Room, Definition]]] = {}
        self.native = native | {name for room, name in self.definitions if room.startswith(_NATIVE_ROOMS)}
        self.homes: dict[str, list[tuple[str, str]]] = {}  # the rooms of a helper, and its name there
        for room, name in self.definitions:
            self.homes.setdefault(self._name(room, name), []).append((room, name))

    def trimmed(self, names: list[str], said: Iterable[str]) -> _Module:
        """The part of it that ``names`` need, without the methods that nobody names."""
        self._check(names)
        start = [self.definitions[home] for name in names for home in self.homes[name]]
        found: dict[str, list[Definition]] = {}
        for room, definition in trimmed(start, said, lambda room, part: self._uses(room, part, eager=False)):
            found.setdefault(room.name, []).append(definition)
        rooms = [dataclasses.replace(self.rooms[name], definitions=tuple(parts)) for name, parts in found.items()]
        return _Module(self.folder, tuple(sorted(rooms, key=lambda room: room.path.stem)), self.native)

    def tables(self, names: list[str]) -> Iterator[str]:
        """The texts of those of these helpers that are tables of others."""
        homes = [home for name in names if has_choices([name]) for home in self.homes.get(name, ())]
        return ("\n".join(self.definitions[home][1].lines) for home in homes)

    def with_long(self, names: frozenset[str]) -> _Module:
        """The same without the short forms of some helpers."""
        if not names & self.native:
            return self
        rooms = [
            dataclasses.replace(room, definitions=tuple(d for d in room.definitions if not names & set(d.names)))
            if name.startswith(_NATIVE_ROOMS)
            else room
            for name, room in self.rooms.items()
        ]
        return _Module(self.folder, tuple(rooms), self.native - names)

    def _check(self, names: list[str]) -> None:
        for name in names:
            if name not in self.homes:
                raise VendorError(f"{self.folder} has no helper named {name}")

    def modules_of(self, names: list[str]) -> frozenset[str]:
        """The top-level modules that these helpers import, without their text."""
        self._check(names)
        ordered = self._order(self._closure(names))
        above = {item.module.split(".")[0] for item in imports_of(self._pieces(ordered), self.folder)}
        inside = (top_modules(Nodes(nodes_of(definition.core))) for _, definition in ordered)
        return frozenset(above.union(*inside)) - {_TOOL.name}

    def render(self, names: list[str]) -> str:
        self._check(names)
        ordered = self._order(self._closure(names))
        self._check_unique(ordered)
        pieces = self._pieces(ordered)
        if self.native:
            pieces = in_one_spelling(pieces)
        imports = imports_of(pieces, self.folder)
        bare = bool(self.native) and not any(_HAS_FIELDS.search(piece.text) for _, piece in pieces)
        half_way = any(_IMPORTS_CHAINER.search(piece.text) for _, piece in pieces)
        parts = [
            _header(imports, half_way, bool(self.native)),
            *([] if bare else ["from __future__ import annotations"]),
            *import_blocks(imports),
        ]
        text = "\n\n".join(parts)
        previous: Piece | None = None
        for _, piece in pieces:  # constants stand together; everything else is set apart by two blank lines
            together = previous is not None and previous.constant and piece.constant
            text += ("\n" if together else "\n\n\n") + piece.text
            previous = piece
        return text + "\n"

    def _name(self, room: str, name: str) -> str:
        """What a helper of a room is called in the one module."""
        return FAITHFUL + name if name in self.native and not room.startswith(_NATIVE_ROOMS) else name

    def _check_unique(self, ordered: list[tuple[Room, Definition]]) -> None:
        homes: dict[str, str] = {}
        for room, definition in ordered:
            for name in (self._name(room.name, name) for name in definition.names):
                if homes.setdefault(name, room.name) != room.name:
                    raise VendorError(
                        f"{self.folder}: {name} is defined in both {homes[name]} and {room.name}; rename one"
                    )

    def _uses(self, room: Room, definition: Definition, eager: bool) -> list[tuple[Room, Definition]]:
        """The definitions that one definition uses: when it is called, or already when it is executed."""
        if (definition, eager) not in self._used:
            self._used[definition, eager] = list(self._find_uses(room, definition, eager))
        return self._used[definition, eager]

    def _find_uses(self, room: Room, definition: Definition, eager: bool) -> Iterator[tuple[Room, Definition]]:
        names = definition.eager if eager else definition.uses
        targets = {room.resolve(definition, name) for name in names} - {None}
        for alias in room.room_imports & names:
            targets |= {(alias, name) for name in definition.attributes(alias, eager)}
        for origin, original in sorted(self._short_form(*target) for target in targets if target is not None):
            if (origin, original) not in self.definitions:
                raise VendorError(f"{room.path}: uses {original} of {self.folder}.{origin}, which does not define it")
            yield self.definitions[origin, original]

    def _short_form(self, room: str, name: str) -> tuple[str, str]:
        """The short helper in the place of a long one, the long one of a short one that is left out; else itself."""
        is_native = room.startswith(_NATIVE_ROOMS)
        if is_native and (room, name) in self.definitions or not is_native and name not in SHORT_FORMS:
            return room, name
        homes = self.homes.get(name, ())
        return next((home for home in homes if home[0].startswith(_NATIVE_ROOMS) is not is_native), (room, name))

    def _closure(self, names: list[str]) -> dict[int, tuple[Room, Definition]]:
        wanted: dict[int, tuple[Room, Definition]] = {}
        stack = [self.definitions[home] for name in names for home in self.homes[name]]
        while stack:
            room, definition = stack.pop()
            if id(definition) not in wanted:
                wanted[id(definition)] = (room, definition)
                stack.extend(self._uses(room, definition, eager=False))
        return wanted

    def _order(self, wanted: dict[int, tuple[Room, Definition]]) -> list[tuple[Room, Definition]]:
        """By room and line, except that what is needed while the module is executed comes first."""
        ordered: list[tuple[Room, Definition]] = []
        seen: set[int] = set()

        def visit(room: Room, definition: Definition, called: bool) -> None:
            if id(definition) in seen:
                return
            seen.add(id(definition))
            for used_room, used in self._uses(room, definition, eager=not called):
                visit(used_room, used, called or definition.calls_eagerly)
            ordered.append((room, definition))

        for room, definition in sorted(wanted.values(), key=lambda item: (item[0].name, item[1].line)):
            visit(room, definition, False)
        return ordered

    def _pieces(self, ordered: list[tuple[Room, Definition]]) -> list[tuple[Room, Piece]]:
        """The texts. A room's import may be called as another room's helper is (Iterator): it is written in full."""
        helpers = {name for _, definition in ordered for name in definition.names}
        result = []
        for room, definition in ordered:
            piece = definition.piece
            for home, used in ((room, definition), *self._uses(room, definition, eager=False)):
                for name in used.names:
                    if (new := self._name(home.name, name)) != name:
                        piece = piece.renamed(name, new)
            for item in room.imports:
                if item.name and item.binds in helpers and item.binds in piece.uses:
                    piece = piece.spelled_out(item)
                    room = dataclasses.replace(room, imports=(*room.imports, Import(item.module, None, None)))
            for alias in room.room_imports & piece.uses:
                piece = piece.flattened(alias)
            result.append((room, piece))
        return result


def _header(imports: list[Import], half_way: bool, native: bool) -> str:
    if native:
        text = (
            f'"""What PyTorch has no equal for. {_MARK} {__version__}, {_NATIVE_MARK}, '
            'which writes it again when the project needs other helpers: keep changes elsewhere."""'
        )
        return "\n".join(textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False))
    needs = sorted({item.module.split(".")[0] for item in imports} - sys.stdlib_module_names)
    needs = [_DISTRIBUTIONS.get(name, name) for name in (["chainer", *needs] if half_way else needs)]
    packages = f"needs {', '.join(needs)} and nothing else" if needs else "needs the standard library only"
    text = (
        f"{_MARK} {__version__}. It belongs to this project now: it {packages}. "
        "`chainer2torch migrate` writes this file again when the project needs other helpers: keep changes elsewhere."
    )
    rows = textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join(
        ['"""What Chainer does and PyTorch has no equal for: the helpers that this project uses.', "", *rows, '"""']
    )
