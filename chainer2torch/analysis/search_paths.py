"""Where Python looks for modules when a file of the project runs, as far as the texts tell."""

from __future__ import annotations

import functools
import math
import posixpath
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from chainer2torch.analysis.outlines import Outline, Statement
from chainer2torch.analysis.path_edits import PathEdit

_Import: TypeAlias = tuple[str | None, str]  # the file that is imported, if it is one, and from which folder
_ROUNDS = 16  # chains of modules that hand folders on are short


class File(Protocol):
    """A file of the project, as far as it matters here."""

    @property
    def outline(self) -> Outline:
        """What the others know of it."""


class Files(Protocol):
    """What is asked of a project. ``importer`` is one of its files."""

    @property
    def files(self) -> Mapping[str, File]:
        """The files by their paths."""

    def is_package(self, folder: str) -> bool:
        """Whether the folder has an ``__init__.py``."""

    def package_root(self, folder: str) -> str:
        """The first folder above that is not a package."""

    def import_root(self, path: str) -> str:
        """The folder that Python searches first for what a file imports."""

    def find_with_root(self, dotted: str, importer: Any) -> tuple[Any, str]:
        """The module or folder that an absolute import finds, and the folder from which it is found."""

    def find_relative(self, level: int, dotted: str, importer: Any) -> Any:
        """The module or folder that a relative import finds."""

    def added_by(self, path: str) -> list[tuple[str, PathEdit]]:
        """The folders that a file adds to ``sys.path``, and how."""


class SearchPaths:
    """For each file, the folders from which it can import, in every program that runs it.

    A program starts with the folder of its script. A module can import from what is known wherever it is imported: from
    what the files that import it know at that line. An import that finds a module from some folder shows that it is
    known; so does a line that adds one beside the file.
    """

    def __init__(self, project: Files):
        self.project = project

    def of(self, path: str) -> Mapping[str, int]:
        """The folders from which a file can import, each with the line behind which it can; 0: everywhere."""
        return self._known.get(path, {})

    def run_by(self, path: str) -> set[str]:
        """The files that a file imports, and those that these import."""
        found: set[str] = set()
        waiting = [path]
        while waiting:
            for _, others in self._steps[waiting.pop()]:
                new = {other for other, _ in others if other} - found
                found |= new
                waiting += new
        return found

    @functools.cached_property
    def entered(self) -> frozenset[str]:
        """The files that others import."""
        return frozenset(other for steps in self._steps.values() for _, others in steps for other, _ in others if other)

    @functools.cached_property
    def _imported(self) -> frozenset[str]:
        """The same, but for the packages that have run before a file in them imports them."""
        return frozenset(
            other
            for path, steps in self._steps.items()
            for _, others in steps
            for other, _ in others
            if other and not _is_package_around(other, path)
        )

    @functools.cached_property
    def _known(self) -> dict[str, dict[str, int]]:
        started = {path: self._at_start(path) for path in self.project.files}
        # what a script that others import knows when it is started, these may not know
        found = {path: dict(known or {}) if path not in self._imported else {} for path, known in started.items()}
        for _ in range(_ROUNDS):
            before = {path: dict(known) for path, known in found.items()}
            ways: dict[str, list[set[str]]] = {}
            for path, steps in self._steps.items():
                passed = {folder for folder, line in found[path].items() if line == 0}
                for line, others in steps:
                    for other, folder in others:
                        if line and (other is None or not _is_pythons(other)):
                            passed.add(folder)
                        if other in self._imported and not _is_package_around(str(other), path):
                            ways.setdefault(str(other), []).append(set(passed))
                        if line and other is not None:
                            passed |= before.get(other, {}).keys()
                    for folder in passed if line else ():
                        if found[path].get(folder, line) != 0:
                            found[path].setdefault(folder, line)
            for path, entries in ways.items():
                start = started[path]
                everywhere = set.intersection(*entries, *([set(start)] if start is not None else []))
                found[path].update(dict.fromkeys(everywhere, 0))
            if found == before:
                break
        return found

    def _at_start(self, path: str) -> dict[str, int] | None:
        """What is known where a program starts with a file; None: it is only imported."""
        folder = posixpath.dirname(path)
        outline = self.project.files[path].outline
        if path.endswith(".ipynb"):
            return {folder: 0}
        imported = path in self.entered
        if self.project.is_package(folder):
            if outline.is_script and not any(statement.level for statement in outline.imports):
                return {folder: 0}
            if imported:
                return None
            # a program that names a module beside it by that one's own name, or that does something; else `python -m`
            alone = self._names_beside(path, folder) or outline.acts and not _is_test(path)
            return {folder if alone else self.project.package_root(folder): 0}
        if outline.is_script or outline.changes_path:  # what changes the path does not count on those that import it
            return {folder: 0}
        return None if imported else dict.fromkeys(self._loaders(folder) or {self.project.import_root(path)}, 0)

    def _names_beside(self, path: str, folder: str) -> bool:
        """Whether a file in a package imports another of its folder by that one's own name: ``import net``."""
        return any(other and root == folder for _, others in self._steps[path] for other, root in others)

    def _loaders(self, folder: str) -> set[str]:
        """The folder of what may load a module by a computed name: that of the only such program around it."""
        found = {posixpath.dirname(path) for path, file in self.project.files.items() if file.outline.dynamic}
        above = {place for place in found if not place or folder == place or folder.startswith(place + "/")}
        return above if len(above) == 1 else set()

    @functools.cached_property
    def _steps(self) -> dict[str, list[tuple[int, list[_Import]]]]:
        return {path: self._steps_of(path) for path in self.project.files}

    def _steps_of(self, path: str) -> list[tuple[int, list[_Import]]]:
        """What each statement takes from the project or adds, with its line; 0 for those that are not in the head."""
        file = self.project.files[path]
        found = [(statement.line, list(self._taken(statement, file))) for statement in file.outline.imports]
        found += [(edit.line, [(None, folder)]) for folder, edit in self.project.added_by(path) if edit.by_file]
        return sorted((entry for entry in found if entry[1]), key=lambda entry: entry[0] or math.inf)

    def _taken(self, statement: Statement, file: File) -> Iterator[_Import]:
        for alias in statement.names:
            if statement.level is None:
                names = [alias]
            else:
                names = [statement.module, f"{statement.module}.{alias}" if statement.module else alias]
            for name in names:
                if statement.level:
                    found, root = self.project.find_relative(statement.level, name, file), ""
                else:
                    found, root = self.project.find_with_root(name, file)
                if found is not None and not isinstance(
                    found, str
                ):  # a folder proves little: libraries have names, too
                    root = self.project.import_root(found.path) if statement.level else root
                    for package in self._packages(found.path, root):
                        yield package, root
                    yield found.path, root

    def _packages(self, path: str, root: str) -> list[str]:
        """The packages that run before a module of theirs does."""
        found, folder = [], posixpath.dirname(path)
        while folder and folder != root and self.project.is_package(folder):
            found.append(f"{folder}/__init__.py")
            folder = posixpath.dirname(folder)
        return [package for package in reversed(found) if package != path]


def _is_package_around(other: str, path: str) -> bool:
    """Whether a file is the `__init__.py` of a package that another is in: that has run before the other begins."""
    folder, name = posixpath.split(other)
    return name == "__init__.py" and f"{posixpath.dirname(path)}/".startswith(f"{folder}/")


def _is_test(path: str) -> bool:
    """Whether a test runner finds a file, which starts it from the folder above the packages."""
    name = posixpath.basename(path).removesuffix(".py")
    return name.startswith("test_") or name.endswith("_test") or name == "conftest"


def _is_pythons(path: str) -> bool:
    """Whether a module has the name of one of Python's own: then the import may mean that one."""
    return posixpath.basename(path).removesuffix(".py") in sys.stdlib_module_names


__all__ = ["SearchPaths"]
