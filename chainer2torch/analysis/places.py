"""Where an import statement finds a file of the project, by the rules of Python's import system."""

from __future__ import annotations

import dataclasses
import functools
import posixpath
import sys
from collections.abc import Mapping
from typing import Protocol

from chainer2torch.analysis.eras import eras_of
from chainer2torch.analysis.helper_homes import HelperHome, HelperHomes
from chainer2torch.analysis.outlines import Outline
from chainer2torch.analysis.path_edits import PathEdit

_LIBRARIES = frozenset({"chainer", "chainermn", "chainerx", "cupy", "numpy", "torch", "ignite"})


class Importer(Protocol):
    """A file, as far as it matters here: where it lies."""

    @property
    def path(self) -> str:
        """Its path from the top of the tree."""

    @property
    def directory(self) -> str:
        """Its folder."""


@dataclasses.dataclass(frozen=True)
class FileInfo:
    """One source file of a project."""

    path: str
    outline: Outline

    @property
    def directory(self) -> str:
        """The folder of the file, '' for the top of the tree."""
        return posixpath.dirname(self.path)


class Places:
    """All files of one project, with their outlines."""

    def __init__(self, outlines: Mapping[str, Outline], pinned: int | None = None, name: str = ""):
        self.files = {path: FileInfo(path, outline) for path, outline in outlines.items()}
        self._name = name  # of the folder at the top, where that is a package and its files may import it by name
        self._by_name: set[str] = set()  # files that import the top so, and those that they find
        self._pinned = pinned  # the major version of Chainer that its requirements ask for
        self._folders = {posixpath.dirname(path) for path in self.files}
        for folder in list(self._folders):
            while folder:
                folder = posixpath.dirname(folder)
                self._folders.add(folder)
        # the folder from which absolute imports of a file were seen to resolve, by the file that is imported
        self.import_folders: dict[str, set[str]] = {}
        self._found: dict[tuple[str, str], tuple[FileInfo | str | None, str]] = {}
        # the files that `from .x import` connects: they are imported from one folder
        self._relatives: dict[str, set[str]] = {}
        # the top-level packages that a file imports, as folders, by the file
        self.packages_of: dict[str, set[str]] = {}

    @functools.cached_property
    def eras(self) -> dict[str, int | None]:
        """For which version of Chainer each file was written: 1, 2 (or later) or None."""
        signs = {path: file.outline.signs for path, file in self.files.items()}
        return eras_of(signs, {path for path, file in self.files.items() if file.outline.doubted}, self._pinned)

    def is_package(self, folder: str) -> bool:
        """Whether the folder has an ``__init__.py`` in this project."""
        return _init_of(folder) in self.files

    def package_root(self, folder: str) -> str:
        """The first folder above that is not a package: where absolute imports of a package start."""
        while folder and self.is_package(folder):
            folder = posixpath.dirname(folder)
        return folder

    def import_root(self, path: str) -> str:
        """The folder in which the helpers of ``path`` belong, so that ``import chainer_compat`` finds them."""
        if path.endswith(".ipynb"):  # a notebook runs in its own folder, whatever package that is
            return posixpath.dirname(path)
        own = self.package_root(posixpath.dirname(path))
        # A folder without __init__.py that a script imports as `models.net` has the script's folder as its root.
        folders = set().union(*(self.import_folders.get(file, ()) for file in self._family(path)))
        outer = [f for f in folders if own != f and (not f or own.startswith(f + "/"))]
        return min(outer, key=len) if outer else own

    def _family(self, path: str) -> set[str]:
        """A file and those that relative imports connect with it."""
        found, new = {path}, {path}
        while new:
            new = {other for file in new for other in self._relatives.get(file, ())} - found
            found |= new
        return found

    def helper_home(self, path: str) -> HelperHome:
        """Where the helpers of a file lie, and how it imports them."""
        return self._homes.of(path)

    @functools.cached_property
    def _homes(self) -> HelperHomes:
        return HelperHomes(self)

    def find(self, dotted: str, importer: Importer) -> FileInfo | str | None:
        """The file (or the folder of a namespace package) that an absolute import finds; None: not ours."""
        return self.find_with_root(dotted, importer)[0]

    def find_with_root(self, dotted: str, importer: Importer) -> tuple[FileInfo | str | None, str]:
        """The file that an absolute import finds, and the folder from which it is found."""
        key = importer.path, dotted
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = self._find_with_root(dotted, importer)
        return known

    def _find_with_root(self, dotted: str, importer: Importer) -> tuple[FileInfo | str | None, str]:
        first = dotted.split(".")[0]
        for root in self._roots(importer):
            found = self._at(root, dotted)
            if root == importer.directory and found is not None and self._means_another(root, found, first, importer):
                continue
            if isinstance(found, str):  # a folder is a package only where no module of its name is found at all
                found, root = self._added_module(dotted, importer) or (found, root)
            if found is not None and not (first in _LIBRARIES and self._hides_nothing(root, first)):
                if isinstance(found, FileInfo):
                    self.import_folders.setdefault(found.path, set()).add(root)
                    top = posixpath.join(root, first)
                    if self.is_package(top):
                        self.packages_of.setdefault(importer.path, set()).add(top)
                return found, root
        return self._below_itself(dotted, importer), ""

    def _below_itself(self, dotted: str, importer: Importer) -> FileInfo | str | None:
        """What an import of the top folder's own name finds: ``from mylib.net import f`` where ``mylib`` is the top."""
        first, _, rest = dotted.partition(".")
        if not self._name or first != self._name or first in _LIBRARIES:
            return None
        found = self._at("", rest) if rest else self._package("")
        self._by_name.update([importer.path, found.path] if isinstance(found, FileInfo) else [])
        return found

    def own_package(self, path: str) -> str:
        """The name of the top folder, where a file finds it by that name whenever it is imported; else empty."""
        family = self._family(path) if self._by_name else set()
        if not family & self._by_name or any("" in self.import_folders.get(file, ()) for file in family):
            return ""
        return self._name

    def _added_module(self, dotted: str, importer: Importer) -> tuple[FileInfo, str] | None:
        """A module in a folder that the importing file itself adds to ``sys.path``, and the folder."""
        for folder, _ in self.added_by(importer.path):
            found = self._at(folder, dotted)
            if isinstance(found, FileInfo):
                return found, folder
        return None

    def _hides_nothing(self, root: str, first: str) -> bool:
        """Whether what lies in a folder leaves the library of its name in sight, as Python 3 imports.

        A plain folder called `chainer` does, whatever it holds; so does a package `nn/chainer` of a package `nn`.
        """
        return isinstance(self._at(root, first), str) or self.is_package(root)

    def _means_another(self, root: str, found: FileInfo | str, first: str, importer: Importer) -> bool:
        """Whether what lies beside a file of a package is not what it imports: modules of Python's own, itself."""
        if not self.is_package(root) or importer.path.endswith(".ipynb"):
            return False
        itself = isinstance(found, FileInfo) and found.path == importer.path
        return itself or isinstance(found, str) or first in sys.stdlib_module_names

    def find_relative(self, level: int, dotted: str, importer: Importer) -> FileInfo | str | None:
        """The file that ``from ..x import`` finds."""
        folder = importer.directory
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        found = self._at(folder, dotted) if dotted else self._package(folder)
        if isinstance(found, FileInfo):
            self._relatives.setdefault(found.path, set()).add(importer.path)
            self._relatives.setdefault(importer.path, set()).add(found.path)
        return found

    def submodule(self, parent: Importer | str, name: str) -> FileInfo | str | None:
        """A file below a package or namespace folder."""
        if not isinstance(parent, str):
            if posixpath.basename(parent.path) != "__init__.py":
                return None
            parent = parent.directory
        return self._at(parent, name)

    def _roots(self, importer: Importer) -> list[str]:
        found = self._roots_of.get(importer.path)
        if found is None:
            folder = importer.directory
            # a file of a package may be started as a script: then its own folder is the first that Python searches
            roots = [self.package_root(folder), folder]
            while folder:
                folder = posixpath.dirname(folder)
                roots.append(folder)
            found = self._roots_of[importer.path] = list(dict.fromkeys((*roots, *self._added)))
        return found

    @functools.cached_property
    def _added(self) -> list[str]:
        """The folders that files of the project add to ``sys.path``: what is found nowhere else may lie there."""
        return list(dict.fromkeys(folder for path in self.files for folder, _ in self.added_by(path)))

    def added_by(self, path: str) -> list[tuple[str, PathEdit]]:
        """The folders of the tree that a file adds to ``sys.path``, and how.

        One that is relative to where the program is started is looked for beside the file, and from the top.
        """
        found = []
        for edit in self.files[path].outline.adds:
            bases = [posixpath.dirname(path)] if edit.by_file else [posixpath.dirname(path), ""]
            for folder in dict.fromkeys(posixpath.normpath(posixpath.join(base, edit.folder)) for base in bases):
                folder = "" if folder == "." else folder
                if folder in self._folders:
                    found.append((folder, edit))
        return found

    @functools.cached_property
    def _roots_of(self) -> dict[str, list[str]]:
        return {}

    def _at(self, root: str, dotted: str) -> FileInfo | str | None:
        base = f"{root}/{dotted.replace('.', '/')}" if root else dotted.replace(".", "/")
        return self.files.get(base + ".py") or self._package(base)

    def _package(self, folder: str) -> FileInfo | str | None:
        init = self.files.get(_init_of(folder))
        if init is not None:
            return init
        return folder if folder in self._folders else None


def _init_of(folder: str) -> str:
    return f"{folder}/__init__.py" if folder else "__init__.py"


__all__ = ["FileInfo", "Importer", "Places"]
