"""What the rest of a project has to know of a file before it is analysed: its imports, and a few of its words.

An outline is plain data that follows from the text of its file alone, so it can be kept from one run to the next.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from chainer2torch.analysis.eras import doubted, signs
from chainer2torch.analysis.libraries import HELPERS
from chainer2torch.analysis.path_edits import PathEdit, path_edits
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.analysis.values import dataclass

# with these a file imports what is computed at run time
_DYNAMIC = ("importlib", "__import__", "load_source", "load_module", "runpy", "execfile")


@dataclass(frozen=True)
class Statement:
    """An import statement: ``import names`` (``level`` is None), or ``from module import names``.

    ``line`` is its last line where it stands in the head of the file, else 0.
    """

    names: tuple[str, ...]
    module: str = ""
    level: int | None = None
    line: int = 0

    def dotted(self) -> list[str]:
        """The names of what it may run: modules, and what is taken from them."""
        if self.level is None:
            return list(self.names)
        taken = [f"{self.module}.{name}" if self.module else name for name in self.names]
        return [name for one in taken for name in (self.module, one)]


@dataclass(frozen=True)
class Outline:
    """The imports of a file in the order of ``Source.nodes``, and what its words say of it."""

    imports: tuple[Statement, ...] = ()
    dynamic: bool = False  # it imports what a computed name says
    changes_path: bool = False  # it changes where Python looks for modules
    is_script: bool = False  # it is made to be run
    own_protocol: bool = False  # a class says itself what is saved of it
    signs: tuple[bool, bool] = (False, False)  # words of version 1 of Chainer, and of later ones
    doubted: bool = False  # an earlier run was in doubt about the version
    is_inert: bool = False  # nothing happens when it is imported, but for relative imports
    acts: bool = False  # it calls something or loops as it is started
    adds: tuple[PathEdit, ...] = ()  # the folders that it adds to sys.path

    def plain(self) -> list[Any]:
        """The outline as JSON can hold it."""
        return [
            [[list(s.names), s.module, s.level, s.line] for s in self.imports],
            *(getattr(self, field.name) for field in dataclasses.fields(self)[1:-1]),
            [[edit.folder, edit.by_file, edit.line] for edit in self.adds],
        ]

    @classmethod
    def of_plain(cls, plain: list[Any]) -> Outline:
        """The outline that ``plain`` gave."""
        imports, dynamic, path, script, protocol, said, in_doubt, inert, acts, adds = plain
        one, later = said
        return cls(
            tuple(Statement(tuple(names), module, level, line) for names, module, level, line in imports),
            bool(dynamic),
            bool(path),
            bool(script),
            bool(protocol),
            (bool(one), bool(later)),
            bool(in_doubt),
            bool(inert),
            bool(acts),
            tuple(PathEdit(folder, bool(by_file), line) for folder, by_file, line in adds),
        )


def outline_of(source: Source) -> Outline:
    """The outline of a file."""
    head = _head(source)
    return Outline(
        tuple(
            Statement(
                tuple(alias.name for alias in node.names),
                (node.module or "") if isinstance(node, ast.ImportFrom) else "",
                node.level if isinstance(node, ast.ImportFrom) else None,
                (node.end_lineno or node.lineno) if node in head else 0,
            )
            for node in source.of(ast.Import, ast.ImportFrom)
        ),
        dynamic=_is_dynamic(source),
        changes_path="sys.path" in source.text,
        is_script="__main__" in source.text,
        own_protocol=any(node.name == "serialize" for node in source.of(ast.FunctionDef, ast.AsyncFunctionDef)),
        signs=signs(source),
        doubted=doubted(source),
        is_inert=all(_is_inert(statement) for statement in source.tree.body),
        acts=any(_acts(statement) for statement in source.tree.body),
        adds=_adds(source),
    )


def _acts(statement: ast.stmt) -> bool:
    """Whether a statement is one of a program rather than of a module: a loop, or a call for what it does."""
    call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    return call or isinstance(statement, (ast.For, ast.While))


def _is_inert(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but to name constants, or to take them from beside the file."""
    if isinstance(statement, ast.ImportFrom):
        return bool(statement.level and statement.module) or statement.module == "__future__"
    value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    return isinstance(statement, ast.Pass) or value is not None and all(map(_is_constant, nodes_of(value)))


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.expr_context))


def _is_dynamic(source: Source) -> bool:
    """Whether a file names what imports at run time, otherwise than in a comment."""
    words = [word for word in _DYNAMIC if word in source.text]
    if not words:
        return False
    said = [n.id for n in source.of(ast.Name)] + [n.attr for n in source.of(ast.Attribute)]
    for node in source.of(ast.Import, ast.ImportFrom):
        said += [alias.name for alias in node.names] + ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
    said += [n.value for n in source.of(ast.Constant) if isinstance(n.value, str)]
    return any(word in text for word in words for text in said)


def _adds(source: Source) -> tuple[PathEdit, ...]:
    """What a file adds to ``sys.path``."""
    if "sys.path" not in source.text:
        return ()
    targets = [(node.targets[0], node.value) for node in source.of(ast.Assign) if len(node.targets) == 1]
    names = [(target.id, value) for target, value in targets if isinstance(target, ast.Name)]
    several = {name for name, _ in names if [other for other, _ in names].count(name) > 1}
    assigned = {name: value for name, value in names if name not in several}
    lines = {
        statement.value: statement.end_lineno or 0 for statement in _head_of(source) if isinstance(statement, ast.Expr)
    }
    found = path_edits(source.of(ast.Call), assigned)
    return tuple(dataclasses.replace(edit, line=lines.get(call, 0)) for call, edit in found)


def _head(source: Source) -> set[ast.AST]:
    """The import statements of the head: it ends where something needs Chainer, and so perhaps the helpers.

    What stands in functions and blocks runs behind it, or may not run at all.
    """
    return {node for node in _head_of(source) if isinstance(node, (ast.Import, ast.ImportFrom))}


def _head_of(source: Source) -> Iterator[ast.stmt]:
    """The statements above the first that needs Chainer."""
    chainer = _names_of_chainer(source)
    for node in source.tree.body:
        is_import = isinstance(node, (ast.Import, ast.ImportFrom))
        if not is_import and any(isinstance(part, ast.Name) and part.id in chainer for part in nodes_of(node)):
            break
        yield node


def _names_of_chainer(source: Source) -> set[str]:
    """The names that a file takes from Chainer and what is built on it, or from helpers."""
    found: set[str] = set()
    for node in source.of(ast.Import, ast.ImportFrom):
        for alias in node.names:
            module = alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
            if module.startswith(("chainer", "cupy")) or HELPERS in module:
                found.add(alias.asname or alias.name.split(".")[0])
    return found


__all__ = ["Outline", "Statement", "outline_of"]
