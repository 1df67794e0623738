"""Parts of a project in which nothing is Chainer's, decided on the names of their files before they are analysed.

Most files that a run has migrated are such parts in the next one, and in the check that the tool makes of itself. What
a value is follows from what a program imports, and no decision is about anything but Chainer's values, what today's
libraries have dropped, and what an earlier run left for this one. A part that names none of these has no decisions. Too
many parts are analysed rather than too few.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from chainer2torch.analysis.libraries import ADAPTERS, STAND_IN, Libraries
from chainer2torch.analysis.module_index import ModuleInfo, Project
from chainer2torch.rules.table import Rules
from chainer2torch.vendor.compat_file import MODULE_NAME

# names that mean CuPy without an import, and what runs what a text says
_NAMES = frozenset({"cp", "cupy", "eval", "exec", "compile", "execfile"})
_IMPORTING = frozenset({"import_module", "importorskip", "__import__"})  # what imports what a text says
_MEMBERS = ADAPTERS | {STAND_IN.rpartition(".")[2]}  # what an earlier run left for this one
_OF_LINKS = "OfLinks"


def is_apart(project: Project, libraries: Libraries, rules: Rules) -> bool:
    """Whether nothing in the files of a part can be Chainer's, or a library's on it, or be changed for another reason.

    A star import from outside of the project may bring any name, and a text that begins like a name of Chainer's may be
    imported.
    """
    modules = list(project.modules.values())
    for module in modules:
        of = module.source.of
        if (
            any(_is_of_library(node, libraries) or _brings_all(project, module, node) for node in _imports(module))
            or any(node.id in _NAMES for node in of(ast.Name))
            or any(node.attr in _MEMBERS or node.attr.endswith(_OF_LINKS) for node in of(ast.Attribute))
            or any(_begins_with(node.value, libraries.tops) for node in of(ast.Constant))
        ):
            return False
    dropped = _Dropped(rules, modules)
    return not dropped.are_imported_by_text() and not dropped.are_named()


def _imports(module: ModuleInfo) -> Iterator[ast.Import | ast.ImportFrom]:
    yield from module.source.of(ast.Import, ast.ImportFrom)


def _is_of_library(node: ast.Import | ast.ImportFrom, libraries: Libraries) -> bool:
    """Whether some word of an import is the first of a library's name, or names what an earlier run left."""
    words = {word for alias in node.names for word in alias.name.split(".")}
    if isinstance(node, ast.ImportFrom):
        words.update((node.module or "").split("."))
    return (
        not words.isdisjoint(libraries.tops)
        or any(word.startswith("chainer") and word != MODULE_NAME for word in words)  # one on it that is not here
        or not words.isdisjoint(_MEMBERS)
        or any(word.endswith(_OF_LINKS) for word in words)
    )


def _brings_all(project: Project, module: ModuleInfo, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import brings all names of a module from outside of the project."""
    if not isinstance(node, ast.ImportFrom) or node.level or all(alias.name != "*" for alias in node.names):
        return False
    return not isinstance(project.find(node.module or "", module), ModuleInfo)


def _begins_with(text: object, tops: Collection[str]) -> bool:
    return isinstance(text, str) and text.partition(".")[0] in tops


class _Dropped:
    """Names that today's Python, NumPy and others have dropped, as far as a part may name them."""

    def __init__(self, rules: Rules, modules: list[ModuleInfo]):
        self._rows = {name for name, row in rules.python.items() if not name.startswith("?") and row.kind == "dropped"}
        self._above = {above for name in self._rows for above in _above(name)}
        self._modules = modules
        self._names: dict[str, set[str]] = {}  # what imports bind, and the modules of dropped names that it may be

    def are_named(self) -> bool:
        """Whether one may be named, or a module that held one is a value: then its name is somewhere else."""
        before = -1
        while before != (before := sum(map(len, self._names.values()))):  # `from own_module import np as xp`
            if any(self._imports(node) for module in self._modules for node in _imports(module)):
                return True
        return any(
            self._is_dropped(module, node)
            for module in self._modules
            for node in module.source.of(ast.Name, ast.Attribute)
        )

    def are_imported_by_text(self) -> bool:
        """Whether a module of one may be imported by a text."""
        tops = {name.partition(".")[0] for name in self._rows}
        words = {node.id for module in self._modules for node in module.source.of(ast.Name)}
        words |= {node.attr for module in self._modules for node in module.source.of(ast.Attribute)}
        words |= {alias.name for module in self._modules for alias in module.source.of(ast.alias)}
        return not words.isdisjoint(_IMPORTING) and any(
            _begins_with(node.value, tops) for module in self._modules for node in module.source.of(ast.Constant)
        )

    def _imports(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Notes what an import binds; gives whether it is a dropped name, or of a dropped module."""
        for alias in node.names:
            if isinstance(node, ast.Import):
                dotted, bound = alias.name, alias.asname or alias.name.partition(".")[0]
                held = {dotted if alias.asname else bound}
            else:
                dotted, bound = f"{node.module or ''}.{alias.name}", alias.asname or alias.name
                held = {dotted, *self._names.get(alias.name, ())}
            if self._is_row(dotted) or any(self._is_row(above) for above in _above(dotted)):
                return True
            self._names.setdefault(bound, set()).update(held & self._above)
        return False

    def _is_dropped(self, module: ModuleInfo, node: ast.Name | ast.Attribute) -> bool:
        found = self._modules_at(node)
        if not found:
            return False
        parent = module.source.parents.get(node)
        if not isinstance(parent, ast.Attribute):
            return isinstance(node.ctx, ast.Load)
        return any(self._is_row(f"{dotted}.{parent.attr}") for dotted in found)

    def _modules_at(self, node: ast.expr) -> set[str]:
        """The modules of dropped names that an expression may be: ``np``, ``np.testing``, ``own_module.np``."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, set())
        if not isinstance(node, ast.Attribute):
            return set()
        if outer := self._modules_at(node.value):
            return {f"{dotted}.{node.attr}" for dotted in outer} & self._above
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        own = isinstance(root, ast.Name) and root.id in self._names
        return self._names.get(node.attr, set()) if own else set()

    def _is_row(self, dotted: str) -> bool:
        return dotted in self._rows or f"{dotted}.*" in self._rows or f"{dotted.rpartition('.')[0]}.*" in self._rows


def _above(dotted: str) -> Iterator[str]:
    """The modules in which a name lies."""
    parts = dotted.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts)))


__all__ = ["is_apart"]
