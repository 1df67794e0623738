"""Where the helpers of each file lie: one module of helpers for as many files as can import it."""

from __future__ import annotations

import dataclasses
import functools
import math
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from chainer2torch.analysis.outlines import Outline, Statement


@dataclasses.dataclass(frozen=True)
class HelperHome:
    """Where the helpers of a file lie: the folder, and the package that this is (empty: a root of imports).

    ``behind`` is the line of the import behind which a file can import them, as its folders for imports are not
    complete before; 0: everywhere.
    """

    folder: str
    package: str
    behind: int = 0


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

    packages_of: dict[str, set[str]]

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


_Import: TypeAlias = tuple[str | None, str]  # the file that is imported, if it is one, and from which folder
_ROUNDS = 8  # chains of modules that hand folders on are short


class HelperHomes:
    """The homes of a project's files.

    They lie in the import root: ``import chainer_compat``. But a package that files of other roots import is a
    library: its helpers lie in it, and whoever can import it imports them from there. So a library with tests and
    examples has one module of helpers. A script that first adds a folder above to ``sys.path`` and imports from there
    finds the helpers of that folder, behind that import; so do the modules that are imported only behind such imports.
    """

    def __init__(self, project: Files):
        self.project = project

    def of(self, path: str) -> HelperHome:
        """Where the helpers of a file lie."""
        root = self.project.import_root(path)
        behind = self._reached.get(path, {})
        if not self._changes_its_path(path):  # there, what is found depends on where the import stands
            home = self._in_library(path, root)
            if home is not None:
                return dataclasses.replace(home, behind=behind.get(self.project.package_root(home.folder), 0))
        if path.endswith(".ipynb"):
            return HelperHome(root, "")
        outer = min((top for top in behind if _is_above(top, root)), key=len, default=None)
        if outer is None:  # a script in a folder below finds its own root only behind such an import, too
            return HelperHome(root, "", 0 if posixpath.dirname(path) == root else behind.get(root, 0))
        home = self._home(self._libraries_of.get(outer, set())) or HelperHome(outer, "")
        return dataclasses.replace(home, behind=behind[outer])

    # -- libraries -------------------------------------------------------------------------------------------------

    def _in_library(self, path: str, root: str) -> HelperHome | None:
        own = self._top_package(posixpath.dirname(path))
        if path.endswith(".ipynb"):
            return self._home(self.project.packages_of.get(path, set()) & self._libraries.keys())
        if own in self._libraries:
            return self._home({own} | self._libraries_of.get(own, set()))
        return self._home(self._libraries_of.get(root, set()))

    def _home(self, shared: set[str]) -> HelperHome | None:
        if not shared:
            return None
        home = min(shared, key=lambda top: (-self._libraries[top], top))
        return HelperHome(home, posixpath.relpath(home, self.project.package_root(home) or ".").replace("/", "."))

    @functools.cached_property
    def _libraries(self) -> Mapping[str, int]:
        """The top-level packages that files of another import root import, and how many of these files there are."""
        return Counter(
            top
            for path, tops in self.project.packages_of.items()
            for top in tops
            if self.project.import_root(path) != self.project.package_root(top) and not self._changes_its_path(path)
        )

    @functools.cached_property
    def _libraries_of(self) -> dict[str, set[str]]:
        """The libraries that files import, by their import roots and by the top-level packages that they are in."""
        found: dict[str, set[str]] = {}
        for path, tops in self.project.packages_of.items():
            for place in {self.project.import_root(path), self._top_package(posixpath.dirname(path))}:
                found.setdefault(place, set()).update(tops & self._libraries.keys())
        return found

    def _top_package(self, folder: str) -> str:
        """The outermost package around a folder, itself included; empty where it is in none."""
        top = ""
        while folder and self.project.is_package(folder):
            top, folder = folder, posixpath.dirname(folder)
        return top

    # -- folders that are added to sys.path ------------------------------------------------------------------------

    @functools.cached_property
    def _reached(self) -> dict[str, dict[str, int]]:
        """The folders from which a file can import behind a line of its head; 0: when it is imported itself."""
        changes = {path for path, file in self.project.files.items() if file.outline.changes_path}
        found: dict[str, dict[str, int]] = {path: {} for path in self.project.files}
        if not changes:
            return found
        imports = {path: self._imports(path) for path in found}
        for _ in range(_ROUNDS):
            before = {path: dict(roots) for path, roots in found.items()}
            entered: dict[str, list[set[str]]] = {}
            for path, statements in imports.items():
                reached = found[path]
                passed = {root for root, line in reached.items() if line == 0}
                for line, others in statements:
                    for other, root in others:
                        if line and (path in changes or root in passed):
                            passed.add(root)
                        if other is not None:
                            entered.setdefault(other, []).append(set(passed))
                        if line and other is not None:
                            passed |= before.get(other, {}).keys()
                    for top in passed if line else ():
                        if reached.get(top, line) != 0:
                            reached[top] = line
            for path, ways in entered.items():  # a module that is imported only where a folder is known
                if not self.project.files[path].outline.is_script:
                    for top in set.intersection(*ways):
                        found[path].setdefault(top, 0)  # its own import is surer than those of others
            if found == before:
                break
        return found

    def _imports(self, path: str) -> list[tuple[int, list[_Import]]]:
        """What each import statement takes from the project, with its line; 0 for those that are not in the head."""
        file = self.project.files[path]
        found = [(statement.line, list(self._taken(statement, file))) for statement in file.outline.imports]
        return sorted((entry for entry in found if entry[1]), key=lambda entry: entry[0] or math.inf)

    def _taken(self, statement: Statement, file: File) -> Iterator[_Import]:
        for alias in statement.names:
            if statement.level is None:
                names = [alias]
            else:
                names = [f"{statement.module}.{alias}" if statement.module else alias, statement.module]
            for name in names:
                if statement.level:
                    found, root = self.project.find_relative(statement.level, name, file), ""
                else:
                    found, root = self.project.find_with_root(name, file)
                if found is not None:
                    path = None if isinstance(found, str) else found.path
                    yield path, self.project.import_root(path) if path and statement.level else root

    def _changes_its_path(self, path: str) -> bool:
        return self.project.files[path].outline.changes_path


def _is_above(folder: str, other: str) -> bool:
    return folder != other and (not folder or other.startswith(folder + "/"))
