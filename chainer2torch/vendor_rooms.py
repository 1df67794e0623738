"""Reads one room of ``chainer2torch/compat/``: its imports, and its top-level definitions with the names they use."""
from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

_PACKAGE = "chainer2torch.compat"


class VendorError(Exception):
    """The helpers cannot be put into one module; the message names the room and the helper."""


@dataclasses.dataclass(frozen=True)
class Import:
    """One imported name: ``import module [as alias]``, or ``from module import name [as alias]``."""

    module: str
    name: str | None
    alias: str | None

    @property
    def binds(self) -> str:
        """The name that it defines in the room."""
        return self.alias or self.name or self.module.split(".")[0]

    def needed_by(self, definition: Definition) -> bool:
        """``import a.b`` binds ``a`` as ``import a`` does: the text decides which of them a definition needs."""
        plain = self.name is None and self.alias is None and "." in self.module
        return not plain or self.module in definition.text


@dataclasses.dataclass(frozen=True)
class Definition:
    """A top-level function, class or constant: its text, and the names it uses (``eager``: at import time)."""

    names: tuple[str, ...]
    text: str
    line: int
    constant: bool
    uses: frozenset[str]
    eager: frozenset[str]
    calls_eagerly: bool

    def attributes(self, alias: str, eager: bool = False) -> frozenset[str]:
        """What this definition takes from the module ``alias``."""
        tree = ast.parse(self.text)
        parts = _eager(tree.body[0]) if eager else [tree]
        return frozenset(node.attr for part in parts for node in _attributes_of(part, alias))

    def spelled_out(self, item: Import) -> Definition:
        """This definition with ``module.name`` wherever it uses what ``from module import name`` binds."""
        full = f"{item.module}.{item.name}"
        nodes = [node for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.Name)]
        return dataclasses.replace(
            self, text=_replaced(self.text, [(node, full) for node in nodes if node.id == item.binds]),
            uses=self.uses - {item.binds} | {item.module.split(".")[0]}, eager=self.eager - {item.binds})

    def flattened(self, alias: str) -> Definition:
        """This definition with ``name`` for ``alias.name``: in one module the rooms are gone."""
        nodes = _attributes_of(ast.parse(self.text), alias)
        return dataclasses.replace(self, text=_replaced(self.text, [(node, node.attr) for node in nodes]))


@dataclasses.dataclass(frozen=True)
class Room:
    """One module of helpers."""

    name: str
    path: Path
    imports: tuple[Import, ...]
    compat_imports: dict[str, tuple[str, str]]
    room_imports: frozenset[str]
    definitions: tuple[Definition, ...]
    future_annotations: bool

    def resolve(self, name: str) -> tuple[str, str] | None:
        """The room and the helper that ``name`` means here, or None for what is no helper."""
        if name in self.compat_imports:
            return self.compat_imports[name]
        if any(name in definition.names for definition in self.definitions):
            return self.name, name
        return None


def read_room(path: Path) -> Room:
    """Parses a room; VendorError when it has a statement that cannot be carried over."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    imports: list[Import] = []
    compat: dict[str, tuple[str, str]] = {}
    definitions: list[Definition] = []
    future = False
    rooms: set[str] = set()
    for node in ast.parse(text, str(path)).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            future = future or any(item.name == "annotations" for item in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == _PACKAGE:
            if any(item.asname for item in node.names):
                raise VendorError(f"{path}:{node.lineno}: rooms are imported without `as`")
            rooms.update(item.name for item in node.names)
        elif _is_compat(node):
            compat.update(_compat_names(node, path))
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
            definition, inner = _definition(node, names, lines, path)
            definitions.append(definition)
            compat.update(inner)
    return Room(path.stem, path, tuple(imports), compat, frozenset(rooms), tuple(definitions), future)


def _attributes_of(tree: ast.AST, alias: str) -> list[ast.Attribute]:
    return [node for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == alias]


def _replaced(text: str, edits: Iterable[tuple[ast.expr, str]]) -> str:
    """``text`` with expressions of one line replaced by others; columns are counted in UTF-8 bytes, as ast does."""
    lines = [line.encode() for line in text.split("\n")]
    for node, code in sorted(edits, key=lambda edit: (edit[0].lineno, edit[0].col_offset), reverse=True):
        row, start, end = node.lineno - 1, node.col_offset, node.end_col_offset
        lines[row] = lines[row][:start] + code.encode() + lines[row][end:]
    return b"\n".join(lines).decode()


def _is_compat(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(item.name.startswith(_PACKAGE) for item in node.names)
    return isinstance(node, ast.ImportFrom) and (node.level > 0 or (node.module or "").startswith(_PACKAGE))


def _compat_names(node: ast.AST, path: Path) -> dict[str, tuple[str, str]]:
    if not isinstance(node, ast.ImportFrom):
        raise VendorError(f"{path}: write `from {_PACKAGE}.<room> import <name>`, not `import {_PACKAGE}...`")
    room = (node.module or "").removeprefix(_PACKAGE).removeprefix(".")
    if not room or any(item.asname or item.name == "*" for item in node.names):
        raise VendorError(f"{path}:{node.lineno}: write `from {_PACKAGE}.<room> import <name>`, without `as`")
    return {item.name: (room, item.name) for item in node.names}


def _defined(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    if not all(isinstance(leaf, ast.Name | ast.Tuple | ast.Store) for target in targets for leaf in ast.walk(target)):
        return ()
    return tuple(leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name))


def _definition(node: ast.stmt, names: tuple[str, ...], lines: list[str],
                path: Path) -> tuple[Definition, dict[str, tuple[str, str]]]:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(item.lineno for item in decorators)]) - 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    dropped: set[int] = set()
    inner: dict[str, tuple[str, str]] = {}
    for child in ast.walk(node):  # an import inside a function, which two rooms that need each other use
        if _is_compat(child):
            inner.update(_compat_names(child, path))
            dropped.update(range(child.lineno - 1, (child.end_lineno or child.lineno)))  # type: ignore[attr-defined]
    text = "\n".join(line for i, line in enumerate(lines[:node.end_lineno]) if i >= first and i not in dropped)
    eager = list(_eager(node))
    uses = frozenset(_names([node])) | frozenset(inner)
    definition = Definition(
        names, text.rstrip(), first, not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef),
        uses - frozenset(names), frozenset(_names(eager)) - frozenset(names),
        any(isinstance(child, ast.Call) for part in eager for child in ast.walk(part)))
    return definition, inner


def _eager(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a definition that run when the module is imported."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from node.decorator_list
        yield from node.args.defaults
        yield from (item for item in node.args.kw_defaults if item is not None)
    elif isinstance(node, ast.ClassDef):
        yield from [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
        for child in node.body:
            yield from _eager(child)
    else:
        yield node


_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = _FUNCTIONS | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that ``nodes`` take from outside themselves: parameters and local variables of functions are not."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
            continue
        inside = _names(ast.iter_child_nodes(node))
        if isinstance(node, ast.arg):
            inside |= _quoted(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            inside |= _quoted(node.annotation)
        elif isinstance(node, _SCOPES):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inside |= _quoted(node.returns)
            outer = _names(_eager(node)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else set()
            inside = (inside - _locals(node)) | outer | _annotations(node)
        found |= inside
    return found


def _locals(scope: ast.AST) -> set[str]:
    """Parameters and variables of a function (its own, not those of functions in it)."""
    found: set[str] = set()
    stack = list(ast.iter_child_nodes(scope))
    shared: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if not isinstance(node, ast.ClassDef | _SCOPES):
            stack.extend(ast.iter_child_nodes(node))
    return found - shared


def _annotations(scope: ast.AST) -> set[str]:
    """A parameter may be called as its type is: what annotations name is not local."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    args = scope.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
    return _names([item.annotation for item in every if item.annotation] + ([scope.returns] if scope.returns else []))


def _quoted(annotation: ast.expr | None) -> set[str]:
    """Names in annotations that are written as strings."""
    found: set[str] = set()
    for child in ast.walk(annotation) if annotation is not None else ():
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            try:
                found |= _names([ast.parse(child.value, mode="eval")])
            except SyntaxError:
                pass  # a literal such as Literal["mean error"], not a name
    return found
