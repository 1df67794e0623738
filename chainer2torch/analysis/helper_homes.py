"""Where the helpers of each file lie: one module of helpers for as many files as can import it."""

from __future__ import annotations

import dataclasses
import functools
import posixpath
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

from chainer2torch.analysis.outlines import Outline
from chainer2torch.analysis.path_edits import PathEdit
from chainer2torch.analysis.search_paths import SearchPaths


# what packages of many projects are called: one that is installed, too, might be found first
_COMMON = frozenset(
    "common core data dataset datasets examples lib libs main model models module modules net nets network networks "
    "source src test tests tools train util utils".split()
)


@dataclasses.dataclass(frozen=True)
class HelperHome:
    """Where the helpers of a file lie: the folder, and the package that this is (empty: a root of imports).

    ``behind`` is the line of the statement behind which a file can import them, as its folders for imports are not
    complete before; 0: everywhere. ``way`` leads from the folder of the file to that of the helpers, where the file
    has to add it to ``sys.path`` itself; empty: it need not.
    """

    folder: str
    package: str
    behind: int = 0
    way: str = ""


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

    def own_package(self, path: str) -> str:
        """The name by which a file finds the folder at the top, where that is a package; else empty."""

    def find_with_root(self, dotted: str, importer: Any) -> tuple[Any, str]:
        """The module or folder that an absolute import finds, and the folder from which it is found."""

    def find_relative(self, level: int, dotted: str, importer: Any) -> Any:
        """The module or folder that a relative import finds."""

    def added_by(self, path: str) -> list[tuple[str, PathEdit]]:
        """The folders that a file adds to ``sys.path``, and how."""


class HelperHomes:
    """The homes of a project's files.

    A package that files of other roots import is a library: its helpers lie in it, and whoever can import it imports
    them from there. So a library with tests and examples has one module of helpers. All other files have one, too: it
    lies where most of them can import it as they are started, and a file that cannot adds the folder to ``sys.path``.
    """

    def __init__(self, project: Files):
        self.project = project
        self._paths = SearchPaths(project)

    def of(self, path: str) -> HelperHome:
        """Where the helpers of a file lie."""
        if own := self.project.own_package(path):
            return HelperHome("", own)
        library = self._library(path)
        if library is not None:
            return library
        home = self._shared or HelperHome(self._folder, "")
        root = self.project.package_root(home.folder) if home.package else home.folder
        behind = self._paths.of(path).get(root)
        if behind is not None:
            return dataclasses.replace(home, behind=behind)
        return dataclasses.replace(home, way=_way(path, root))

    # -- the library that the others share --------------------------------------------------------------------------

    @functools.cached_property
    def _shared(self) -> HelperHome | None:
        """The library whose helpers the files that do not import it take, too: a second module would hold the same.

        Nothing may happen when such a file imports it, and most files that need helpers lie in it or know it.
        """
        users = [path for path in self.project.files if self._needs_chainer(path)]
        inside = Counter(home.folder for path in users if (home := self._library(path)) is not None)
        outside = self._outside
        for folder, count in sorted(inside.items(), key=lambda item: (-item[1], item[0])):
            root = self.project.package_root(folder)
            is_known = all(root in self._paths.of(path) for path in outside)
            if (
                0 < len(outside) <= count
                and self._is_quiet(folder, root)
                and (is_known or self._is_found(folder, root))
            ):
                return HelperHome(folder, posixpath.relpath(folder, root or "."))
        return None

    def _is_quiet(self, folder: str, root: str) -> bool:
        """Whether nothing happens when a package is imported, and it lies directly in the root of imports."""
        return posixpath.dirname(folder) == root and self._is_inert(posixpath.join(folder, "__init__.py"))

    def _is_found(self, folder: str, root: str) -> bool:
        """Whether its name finds a package wherever its root is known: none of that name may come before."""
        name = posixpath.relpath(folder, root or ".")
        return not (name in _COMMON or name in sys.stdlib_module_names or self._is_elsewhere(name, folder))

    def _is_inert(self, path: str) -> bool:
        """Whether nothing happens when a module of a library is imported for the first time."""
        seen: set[str] = set()
        waiting = [path]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            file = self.project.files.get(path)
            if file is None or not file.outline.is_inert:
                return False
            for statement in file.outline.imports:
                if statement.module != "__future__":
                    found = self.project.find_relative(statement.level or 0, statement.module, file)
                    waiting.append(getattr(found, "path", ""))
        return True

    def _is_elsewhere(self, name: str, folder: str) -> bool:
        """Whether a module or package of this name lies in another place, too, and might be found first."""
        parts = [posixpath.splitext(path)[0].split("/") for path in self.project.files if not _is_in(path, folder)]
        return any(name in each for each in parts)

    # -- the folder of those that are in no library -----------------------------------------------------------------

    @functools.cached_property
    def _folder(self) -> str:
        """The folder from which most files can import as they are.

        It lies above the others, so that they have a way; but scripts beside it may name it themselves.
        """
        files = self._outside or [path for path in self.project.files if self._library(path) is None]
        if not files:
            return ""
        folders = {posixpath.dirname(path) for path in files}
        known = {path: self._paths.of(path) for path in files}
        candidates = {_above_all(folders), *(folder for found in known.values() for folder in found)}
        reach = {
            folder: [path for path in files if folder in known[path]]
            for folder in candidates
            if all(_is_in(posixpath.dirname(path), folder) or known[path].get(folder) for path in files)
        }
        return min(reach, key=lambda folder: (-len(reach[folder]), folder.count("/") + bool(folder), folder))

    @functools.cached_property
    def _outside(self) -> list[str]:
        """The files in no library that need helpers."""
        return [path for path in self.project.files if self._library(path) is None and self._needs_chainer(path)]

    def _needs_chainer(self, path: str) -> bool:
        """Whether a file imports Chainer or CuPy itself: others hardly ever get helpers."""
        statements = self.project.files[path].outline.imports
        return any(name.startswith(("chainer", "cupy")) for statement in statements for name in statement.dotted())

    # -- libraries -------------------------------------------------------------------------------------------------

    def _library(self, path: str) -> HelperHome | None:
        if path not in self._known:
            home = self._find_library(path)
            one = None if home is None else self._one_of(self.project.package_root(home.folder))
            if home is not None and one is not None:
                home = dataclasses.replace(home, folder=one.folder, package=one.package)
            self._known[path] = home
        return self._known[path]

    def _one_of(self, root: str) -> HelperHome | None:
        """The library that holds the helpers of all that lie in one root of imports, where nothing happens in it."""
        if root not in self._ones:
            beside = [top for top in self._libraries if self.project.package_root(top) == root]
            quiet = [top for top in beside if self._is_quiet(top, root) and self._is_found(top, root)]
            top = min(quiet, key=lambda top: (-self._libraries[top], top), default=None)
            self._ones[root] = None if top is None else HelperHome(top, posixpath.relpath(top, root or "."))
        return self._ones[root]

    @functools.cached_property
    def _ones(self) -> dict[str, HelperHome | None]:
        return {}

    @functools.cached_property
    def _known(self) -> dict[str, HelperHome | None]:
        return {}

    def _find_library(self, path: str) -> HelperHome | None:
        """The home of a file in a package for several roots, if it finds that package wherever it is imported."""
        if self._changes_its_path(path):
            return self._beside_its_import(path) or self._through_others(path)
        home = self._in_library(path, self.project.import_root(path))
        if home is None:
            return self._through_others(path)
        root = self.project.package_root(home.folder)
        behind = self._paths.of(path).get(root)
        if behind is None and _is_in(path, home.folder) and path in self._paths.entered:
            return None  # some program finds this file, and not the package that it is in
        return dataclasses.replace(home, behind=behind or 0)

    def _beside_its_import(self, path: str) -> HelperHome | None:
        """The home of a file that changes `sys.path`: behind its import a library is sure to be found."""
        home = self._home(self.project.packages_of.get(path, set()) & self._libraries.keys())
        if home is None or _is_in(path, home.folder):
            return None
        names = (home.package, home.package + ".")
        for statement in self.project.files[path].outline.imports:
            said = statement.dotted() if not statement.level and statement.line else ()
            if any(name == names[0] or name.startswith(names[1]) for name in said):
                return dataclasses.replace(home, behind=statement.line)
        return None

    def _through_others(self, path: str) -> HelperHome | None:
        """The home of a file that runs a library all the same: some module that it imports imports that."""
        known = self._paths.of(path)
        for home in filter(None, (self._home({top}) for top in sorted(self._libraries))):
            behind = known.get(self.project.package_root(home.folder))
            if behind is None or path.endswith(".ipynb"):
                continue
            if any(_is_in(other, home.folder) for other in self._paths.run_by(path)):
                return dataclasses.replace(home, behind=behind)
        return None

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
        below = {top: self._below(top) for top in shared}
        found = shared.union(*below.values())
        # a library that imports another takes the helpers of that one: two copies would have two train flags
        lowest = [top for top in found if all(top in self._below(other) for other in self._below(top) & found)]
        home = min(lowest or shared, key=lambda top: (-self._libraries[top], top))
        return HelperHome(home, posixpath.relpath(home, self.project.package_root(home) or ".").replace("/", "."))

    def _below(self, top: str) -> set[str]:
        """The other libraries beside a library that it imports."""
        root = self.project.package_root(top)
        return {o for o in self._libraries_of.get(top, ()) if o != top and self.project.package_root(o) == root}

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
            package = self._top_package(posixpath.dirname(path))  # a script's is none, and no root that is named ""
            for place in {self.project.import_root(path)} | ({package} if package else set()):
                found.setdefault(place, set()).update(tops & self._libraries.keys())
        return found

    def _top_package(self, folder: str) -> str:
        """The outermost package around a folder, itself included; empty where it is in none."""
        top = ""
        while folder and self.project.is_package(folder):
            top, folder = folder, posixpath.dirname(folder)
        return top

    def _changes_its_path(self, path: str) -> bool:
        return self.project.files[path].outline.changes_path


def _above_all(folders: set[str]) -> str:
    """The innermost folder that holds all others."""
    common = posixpath.commonpath([f"/{folder}" for folder in folders])
    return common.strip("/")


def _way(path: str, folder: str) -> str:
    """The way from a file to a folder."""
    return posixpath.relpath(folder or ".", posixpath.dirname(path) or ".")


def _is_in(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")


__all__ = ["HelperHome", "HelperHomes"]
