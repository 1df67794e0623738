"""Groups of files that can see each other's objects: those that imports connect, whichever imports which."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.module_index import ModuleInfo, Project


def groups(project: Project) -> dict[ModuleInfo, int]:
    """The number of its group for each file."""
    parents: dict[ModuleInfo, ModuleInfo] = {}

    def root(module: ModuleInfo) -> ModuleInfo:
        while module in parents:
            module = parents[module]
        return module

    for module in project.modules.values():
        for other in imported_by(project, module):
            one, two = root(module), root(other)
            if one is not two:
                parents[two] = one
    numbers: dict[ModuleInfo, int] = {}
    return {module: numbers.setdefault(root(module), len(numbers)) for module in project.modules.values()}


def imported_by(project: Project, module: ModuleInfo) -> Iterator[ModuleInfo]:
    """The files of the project that a file imports."""
    for node in module.source.of(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            found = [project.find(alias.name, module) for alias in node.names]
        elif node.level:
            package = project.find_relative(node.level, node.module or "", module)
            found = [package, *(project.submodule(package, a.name) for a in node.names if package is not None)]
        else:
            package = project.find(node.module or "", module)
            found = [package, *(project.submodule(package, a.name) for a in node.names if package is not None)]
        yield from (one for one in found if isinstance(one, ModuleInfo))


__all__ = ["groups", "imported_by"]
