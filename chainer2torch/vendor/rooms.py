"""Reads one room of helpers: its imports, and its top-level definitions with the names they use.

A room is a module of ``chainer2torch/compat/`` or ``chainer2torch/native/``. Rooms of one folder may use each other.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.vendor.annotations import bare_statement, unannotate
from chainer2torch.vendor.docstrings import docstrings, of_methods, shorten
from chainer2torch.vendor.free_names import eager_parts, free_names, outer_names
from chainer2torch.vendor.optional_parts import MARK, shorter_headers
from chainer2torch.vendor.said import said_in

_TOOL = "chainer2torch"
_BLANKS = re.compile(r"\n{3,}")
_MARK = re.compile(MARK)
_HEAD = re.compile(r"(?:async\s+def|def|class)\s+(\w+)")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class VendorError(Exception):
    """The helpers cannot be put into one module; the message names the room and the helper."""


@dataclass(frozen=True)
class Import:
    """One imported name: ``import module [as alias]``, or ``from module import name [as alias]``."""

    module: str
    name: str | None
    alias: str | None

    @property
    def binds(self) -> str:
        """The name that it defines in the room."""
        return self.alias or self.name or self.module.split(".")[0]

    def needed_by(self, piece: Piece) -> bool:
        """``import a.b`` binds ``a`` as ``import a`` does: the text decides which of them a definition needs."""
        plain = self.name is None and self.alias is None and "." in self.module
        return self.binds in piece.uses and (not plain or self.module in piece.text)


@dataclass(frozen=True)
class Piece:
    """The text of a definition on its way into the one module, and the names it uses."""

    text: str
    constant: bool
    uses: frozenset[str]

    @functools.lru_cache(maxsize=4096)  # noqa: B019 - as many pieces as there are helpers; each tree wants the same ones
    def spelled_out(self, item: Import) -> Piece:
        """With ``module.name`` wherever it uses what ``from module import name`` binds."""
        full = f"{item.module}.{item.name}"
        nodes = outer_names(ast.parse(self.text), item.binds)
        return dataclasses.replace(
            self,
            text=replaced(self.text, [(node, full) for node in nodes]),
            uses=self.uses - {item.binds} | {item.module.split(".")[0]},
        )

    @functools.lru_cache(maxsize=4096)  # noqa: B019
    def renamed(self, old: str, new: str) -> Piece:
        """With another name for a helper, its own definition included."""
        text = replaced(self.text, [(node, new) for node in outer_names(ast.parse(self.text), old)])
        head = re.compile(rf"^(class|def|async def) {re.escape(old)}\b", re.MULTILINE)
        return dataclasses.replace(self, text=head.sub(rf"\1 {new}", text, count=1))

    @functools.lru_cache(maxsize=4096)  # noqa: B019
    def flattened(self, alias: str) -> Piece:
        """With ``name`` for ``alias.name``: in one module the rooms are gone."""
        nodes = _attributes_of(ast.parse(self.text), alias)
        return dataclasses.replace(self, text=replaced(self.text, [(node, node.attr) for node in nodes]))


@dataclass(frozen=True, eq=False)
class Definition:
    """A top-level function, class or constant. What it uses is only looked up when it is needed itself."""

    names: tuple[str, ...]
    parsed: ast.stmt | None  # None: its rows are parsed when it is needed
    lines: list[str]
    path: Path
    package: str
    prefix: str = ""
    left_out: frozenset[int] = frozenset()  # rows of parts that go
    rows: range = range(0)
    brief: bool = False  # without annotations; of each docstring, only what is before the first blank row

    @functools.cached_property
    def node(self) -> ast.stmt:
        """The statement, with its places in the room."""
        if self.parsed is not None:
            return self.parsed
        tree = ast.parse("\n".join(self.lines[self.rows.start : self.rows.stop]), str(self.path))
        return ast.increment_lineno(tree, self.rows.start).body[0]

    def without(self, node: ast.stmt, rows: Iterable[int]) -> Definition:
        """What is left of it: ``node``, without some rows."""
        return dataclasses.replace(self, parsed=node, left_out=frozenset(rows))

    @functools.cached_property
    def core(self) -> ast.stmt:
        """What a project gets of the statement, as far as names are concerned."""
        return bare_statement(self.node) if self.brief else self.node

    @functools.cached_property
    def said(self) -> frozenset[str]:
        """The names by which it may reach members of whatever."""
        return frozenset(said_in(self.core))

    @property
    def line(self) -> int:
        """Its place in the room."""
        return self.node.lineno

    @functools.cached_property
    def inner(self) -> dict[str, tuple[str, str]]:
        """Helpers imported inside of it, which two rooms that need each other do."""
        found: dict[str, tuple[str, str]] = {}
        for child in self._inner_imports:
            found.update(_room_names(child, self.path, self.package, self.prefix))
        return found

    @functools.cached_property
    def _inner_imports(self) -> list[ast.stmt]:
        return [
            child
            for child in nodes_of(self.node)
            if isinstance(child, (ast.Import, ast.ImportFrom)) and _is_room(child, self.path, self.package)
        ]

    @functools.cached_property
    def piece(self) -> Piece:
        """Its text, with decorators and the comment above it, without imports from other rooms."""
        starts = [self.node.lineno, *(item.lineno for item in getattr(self.node, "decorator_list", []))]
        first = min(starts) - 1
        while first > 0 and self.lines[first - 1].startswith("#"):
            first -= 1
        dropped = self.left_out | {
            row for child in self._inner_imports for row in range(child.lineno - 1, child.end_lineno or 0)
        }
        written = dict(enumerate(self.lines[: self.node.end_lineno or 0]))
        if self.brief:
            for docstring in (inner := set(of_methods(self.node))):
                dropped |= set(range(docstring.lineno - 1, docstring.end_lineno or 0))
            for docstring in set(docstrings(nodes_of(self.node))) - inner:
                dropped |= shorten(docstring, written)
        if self.brief:
            dropped |= unannotate(self.node, written)
        dropped |= shorter_headers(self.node, written, dropped, every=self.brief)
        kept = [_MARK.sub("", written[row]) for row in range(first, self.node.end_lineno or 0) if row not in dropped]
        if self.left_out and isinstance(self.node, ast.ClassDef) and isinstance(self.node.body[0], ast.Pass):
            kept.append("    pass")
        constant = not isinstance(self.node, _FUNCTIONS | ast.ClassDef)
        text = "\n".join(kept).rstrip()
        # a part that goes stood between two blank rows
        return Piece(_BLANKS.sub("\n\n", text) if dropped else text, constant, self.uses)

    @functools.cached_property
    def uses(self) -> frozenset[str]:
        """The names that it takes from outside."""
        return frozenset(free_names([self.core]) | set(self.inner)) - frozenset(self.names)

    @functools.cached_property
    def eager(self) -> frozenset[str]:
        """Those of them that are needed when the module is imported."""
        return frozenset(free_names(eager_parts(self.core))) - frozenset(self.names)

    @functools.cached_property
    def calls_eagerly(self) -> bool:
        """Whether something is called when the module is imported."""
        return any(isinstance(child, ast.Call) for part in eager_parts(self.core) for child in nodes_of(part))

    def attributes(self, alias: str, eager: bool) -> set[str]:
        """What it takes from the module ``alias``."""
        parts = eager_parts(self.core) if eager else [self.core]
        return {node.attr for part in parts for node in _attributes_of(part, alias)}


@dataclass(frozen=True)
class Room:
    """One module of helpers."""

    name: str
    path: Path
    imports: tuple[Import, ...]
    room_names: dict[str, tuple[str, str]]
    room_imports: frozenset[str]
    definitions: tuple[Definition, ...]
    own: frozenset[str]  # the names that are defined here, also those that a project does without

    def resolve(self, definition: Definition, name: str) -> tuple[str, str] | None:
        """The room and the helper that ``name`` means in a definition, or None for what is no helper."""
        if name in self.own:
            return self.name, name
        return definition.inner.get(name) or self.room_names.get(name)


def read_room(path: Path, package: str, prefix: str = "", *, brief: bool = False) -> Room:
    """Parses a room of ``package``, "chainer2torch.compat" say; VendorError for what cannot be carried over.

    ``prefix`` comes before the names of the rooms, where several packages are read together. ``brief``: its helpers
    are written without annotations, and with summaries for docstrings.
    """
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    imports: list[Import] = []
    taken: dict[str, tuple[str, str]] = {}
    definitions: list[Definition] = []
    rooms: set[str] = set()
    rest = list(lines)
    for name, rows in _definition_rows(lines):  # most are never needed: only what stands between them is parsed here
        rest[rows.start : rows.stop] = [""] * len(rows)
        definitions.append(Definition((name,), None, lines, path, package, prefix, rows=rows, brief=brief))
    for node in ast.parse("\n".join(rest), str(path)).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            pass  # the module gets it anyhow
        elif isinstance(node, ast.ImportFrom) and _is_package(node.module or "", path, package):
            if any(item.asname for item in node.names):
                raise VendorError(f"{path}:{node.lineno}: rooms are imported without `as`")
            rooms.update(item.name for item in node.names)
        elif _is_room(node, path, package):
            taken.update(_room_names(node, path, package, prefix))
        elif isinstance(node, ast.Import):
            imports.extend(Import(item.name, None, item.asname) for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            imports.extend(Import(node.module or "", item.name, item.asname) for item in node.names)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            pass  # the docstring
        else:
            names = _defined(node)
            if not names:
                raise VendorError(f"{path}:{node.lineno}: only imports, functions, classes and constants are vendored")
            if names == ("__all__",):
                continue
            definitions.append(Definition(names, node, lines, path, package, prefix, brief=brief))
    definitions.sort(key=lambda definition: definition.rows.start if definition.parsed is None else definition.line)
    own = frozenset(name for definition in definitions for name in definition.names)
    return Room(prefix + path.stem, path, tuple(imports), taken, frozenset(rooms), tuple(definitions), own)


def _definition_rows(lines: list[str]) -> Iterator[tuple[str, range]]:
    """The functions and classes of a room, and their rows, with their decorators: what is indented belongs to them."""
    tops = [row for row, line in enumerate(lines) if line and line[0] not in " )]}#"]
    start = None
    for row, end in zip(tops, [*tops[1:], len(lines)]):
        if head := _HEAD.match(lines[row]):
            yield head[1], range(row if start is None else start, end)
            start = None
        elif start is None and lines[row].startswith("@"):
            start = row


def _attributes_of(tree: ast.AST, alias: str) -> list[ast.Attribute]:
    return [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == alias
    ]


def replaced(text: str, edits: Iterable[tuple[ast.expr, str]]) -> str:
    """``text`` with expressions of one line replaced by others; columns are counted in UTF-8 bytes, as ast does."""
    lines = [line.encode() for line in text.split("\n")]
    for node, code in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        row, start, end = node.lineno - 1, node.col_offset, node.end_col_offset
        lines[row] = lines[row][:start] + code.encode() + lines[row][end:]
    return b"\n".join(lines).decode()


def _is_package(module: str, room: Path, package: str) -> bool:
    """Whether rooms are imported from ``module``: from the package of the rooms, or from one of the packages in it."""
    return module == package or module.startswith(package + ".") and _is_inner_package(module, room.parent, package)


@functools.lru_cache(maxsize=4096)  # the same few packages, in each of the rooms
def _is_inner_package(module: str, folder: Path, package: str) -> bool:
    root = next(above for above in (folder, *folder.parents) if above.name == package.rpartition(".")[2])
    return (root / module[len(package) + 1 :]).is_dir()


def _is_room(node: ast.AST, path: Path, package: str) -> bool:
    """Whether an import takes helpers from another room; anything else of this tool cannot be shipped."""
    if isinstance(node, ast.Import):
        modules = [item.name for item in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""] if node.level == 0 else [package]
    else:
        return False
    ours = [module for module in modules if module.split(".")[0] == _TOOL]
    if any(module != package and not module.startswith(package + ".") for module in ours):
        raise VendorError(f"{path}: imports {', '.join(ours)}, but only what is in {package} is shipped with it")
    return bool(ours)


def _room_names(node: ast.AST, path: Path, package: str, prefix: str = "") -> dict[str, tuple[str, str]]:
    if not isinstance(node, ast.ImportFrom):
        raise VendorError(f"{path}: write `from {package}.<room> import <name>`, not `import {package}...`")
    room = prefix + (node.module or "").rpartition(".")[2]
    if any(item.asname or item.name == "*" for item in node.names):
        raise VendorError(f"{path}:{node.lineno}: write `from {package}.<room> import <name>`, without `as`")
    return {item.name: (room, item.name) for item in node.names}


def _defined(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, _FUNCTIONS | ast.ClassDef):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    if not all(isinstance(leaf, ast.Name | ast.Tuple | ast.Store) for target in targets for leaf in nodes_of(target)):
        return ()
    return tuple(leaf.id for target in targets for leaf in nodes_of(target) if isinstance(leaf, ast.Name))
