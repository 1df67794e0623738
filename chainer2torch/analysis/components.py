"""Which files of a project can meet in one run: those that import each other, directly or through others."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.module_index import ModuleInfo, Project

_DYNAMIC = ("importlib", "__import__", "load_source", "runpy")


def components(analysis: Facts) -> Mapping[ModuleInfo, frozenset[ModuleInfo]]:
    """The component of each file. Ask it with ``analysis.once``.

    An import that is not resolved counts as one of every file of that name; a file that imports what a computed name
    says is together with all others.
    """
    project = analysis.project
    modules = list(project.modules.values())
    stems: dict[str, list[ModuleInfo]] = {}
    for module in modules:
        stems.setdefault(_stem(module.path), []).append(module)
    neighbours: dict[ModuleInfo, set[ModuleInfo]] = {module: set() for module in modules}
    for module in modules:
        found = set(modules) if any(word in module.source.text for word in _DYNAMIC) else set()
        for name, level in _imported(module):
            found |= set(_resolved(project, module, name, level)) or set(stems.get(name.split(".")[0], ()))
        for other in found:
            neighbours[module].add(other)
            neighbours[other].add(module)
    result: dict[ModuleInfo, frozenset[ModuleInfo]] = {}
    for module in modules:
        if module not in result:
            together = _reached(module, neighbours)
            result.update(dict.fromkeys(together, together))
    return result


def _imported(module: ModuleInfo) -> Iterator[tuple[str, int]]:
    """The dotted names that a file imports, each with the number of its dots: modules, and what is taken from them."""
    for node in module.source.of(ast.Import, ast.ImportFrom):
        for alias in node.names:
            if isinstance(node, ast.Import):
                yield alias.name, 0
            else:
                yield node.module or "", node.level
                yield f"{node.module}.{alias.name}" if node.module else alias.name, node.level


def _resolved(project: Project, module: ModuleInfo, name: str, level: int) -> Iterator[ModuleInfo]:
    """The files of the project that an import of a name runs: the module, and the packages that it lies in."""
    parts = name.split(".") if name else []
    for length in range(0 if level else 1, len(parts) + 1):
        dotted = ".".join(parts[:length])
        found = project.find_relative(level, dotted, module) if level else project.find(dotted, module)
        if isinstance(found, ModuleInfo):
            yield found


def _stem(path: str) -> str:
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


def _reached(start: ModuleInfo, neighbours: Mapping[ModuleInfo, set[ModuleInfo]]) -> frozenset[ModuleInfo]:
    found, pending = {start}, [start]
    while pending:
        new = neighbours[pending.pop()] - found
        found |= new
        pending += new
    return frozenset(found)


__all__ = ["components"]
