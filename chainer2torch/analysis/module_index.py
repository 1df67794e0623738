"""The index of a project: its modules and how an import statement in one file finds another."""

from __future__ import annotations

import ast
import dataclasses
import functools
import posixpath
from collections.abc import Mapping

from chainer2torch.analysis.eras import eras
from chainer2torch.analysis.helper_homes import HelperHome, HelperHomes
from chainer2torch.analysis.kind_base import Kind
from chainer2torch.analysis.source import Source, nodes_of


_OF_LISTS = frozenset({"zip", "enumerate", "len", "list", "map"})
_LIBRARIES = frozenset({"chainer", "chainermn", "chainerx", "cupy", "numpy", "torch", "ignite"})


@dataclasses.dataclass(eq=False, repr=False)
class ModuleInfo:
    """One source file."""

    path: str
    source: Source
    env: dict[str, Kind] = dataclasses.field(default_factory=dict)
    # `from m import *` of names outside the project, searched when a name is not found
    stars: list[str] = dataclasses.field(default_factory=list)
    bound: bool = False
    # lists and dictionaries into which functions put something
    grown: set[str] = dataclasses.field(default_factory=set)

    def __repr__(self) -> str:  # the whole index hangs on each of these classes: a generated text would never end
        return f"ModuleInfo({self.path!r})"

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the file."""
        return self.source.tree

    @property
    def directory(self) -> str:
        """The folder of the file, '' for the top of the tree."""
        return posixpath.dirname(self.path)


@dataclasses.dataclass(eq=False, repr=False)
class FuncInfo:
    """A function or method and what is known of it so far."""

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: ModuleInfo
    cls: ClassInfo | None
    scopes: tuple[dict[str, Kind], ...]
    params: dict[str, Kind] = dataclasses.field(default_factory=dict)
    returns: Kind | None = None
    is_property: bool = False
    is_static: bool = False
    is_classmethod: bool = False
    is_generator: bool = False
    # whether a decorator takes or returns something else
    is_changed: bool = False
    # whether some call of it was seen, even one whose arguments are not known yet
    called: bool = False
    # parameters that some call gives an array on the host, whatever others give them
    host_fed: set[str] = dataclasses.field(default_factory=set)
    # whether parameters that no call feeds have got what Chainer's protocols say of them
    seeded: bool = False

    def __repr__(self) -> str:
        return f"FuncInfo({self.name!r}, {self.module!r})"

    @functools.cached_property
    def listed(self) -> frozenset[str]:
        """The names that its body treats as lists of things, which a batch in one tensor is not."""
        found: set[str] = set()
        for node in nodes_of(self.node):
            parts: list[ast.expr] = []
            if isinstance(node, (ast.For, ast.comprehension)):
                parts = [node.iter]
            elif isinstance(node, ast.Starred):
                parts = [node.value]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_LISTS:
                parts = node.args
            found.update(part.id for part in parts if isinstance(part, ast.Name))
        return frozenset(found)


@dataclasses.dataclass(eq=False, repr=False)
class ClassInfo:
    """A class of the project: bases, methods, and the kinds of its attributes joined over all assignments."""

    name: str
    node: ast.ClassDef
    module: ModuleInfo
    bases: list[Kind] = dataclasses.field(default_factory=list)
    methods: dict[str, FuncInfo] = dataclasses.field(default_factory=dict)
    attrs: dict[str, Kind] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ClassInfo({self.name!r}, {self.module!r})"


class Project:
    """All modules of one analysis, found by the rules of Python's import system."""

    def __init__(self, sources: Mapping[str, Source], pinned: int | None = None):
        self.modules = {path: ModuleInfo(path, source) for path, source in sources.items()}
        self._pinned = pinned  # the major version of Chainer that its requirements ask for
        self._folders = {posixpath.dirname(path) for path in self.modules}
        for folder in list(self._folders):
            while folder:
                folder = posixpath.dirname(folder)
                self._folders.add(folder)
        # the folder from which absolute imports of a file were seen to resolve, by the file that is imported
        self.import_folders: dict[str, set[str]] = {}
        # the top-level packages that a file imports, as folders, by the file
        self.packages_of: dict[str, set[str]] = {}

    @functools.cached_property
    def eras(self) -> dict[str, int | None]:
        """For which version of Chainer each file was written: 1, 2 (or later) or None."""
        return eras({path: module.source for path, module in self.modules.items()}, self._pinned)

    def is_package(self, folder: str) -> bool:
        """Whether the folder has an ``__init__.py`` in this project."""
        return _init_of(folder) in self.modules

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
        outer = [f for f in self.import_folders.get(path, ()) if own != f and (not f or own.startswith(f + "/"))]
        return min(outer, key=len) if outer else own

    def helper_home(self, path: str) -> HelperHome:
        """Where the helpers of a file lie, and how it imports them."""
        return self._homes.of(path)

    @functools.cached_property
    def _homes(self) -> HelperHomes:
        return HelperHomes(self)

    def find(self, dotted: str, importer: ModuleInfo) -> ModuleInfo | str | None:
        """The module (or the folder of a namespace package) that an absolute import finds; None: not ours."""
        return self.find_with_root(dotted, importer)[0]

    def find_with_root(self, dotted: str, importer: ModuleInfo) -> tuple[ModuleInfo | str | None, str]:
        """The module that an absolute import finds, and the folder from which it is found."""
        first = dotted.split(".")[0]
        for root in self._roots(importer):
            found = self._at(root, dotted)
            # A plain folder called `chainer` or `numpy` does not hide the library of that name, whatever it holds.
            if found is not None and not (first in _LIBRARIES and isinstance(self._at(root, first), str)):
                if isinstance(found, ModuleInfo):
                    self.import_folders.setdefault(found.path, set()).add(root)
                    top = posixpath.join(root, first)
                    if self.is_package(top):
                        self.packages_of.setdefault(importer.path, set()).add(top)
                return found, root
        return None, ""

    def find_relative(self, level: int, dotted: str, importer: ModuleInfo) -> ModuleInfo | str | None:
        """The module that ``from ..x import`` finds."""
        folder = importer.directory
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return self._at(folder, dotted) if dotted else self._package(folder)

    def submodule(self, parent: ModuleInfo | str, name: str) -> ModuleInfo | str | None:
        """A module below a package or namespace folder."""
        if isinstance(parent, ModuleInfo):
            if posixpath.basename(parent.path) != "__init__.py":
                return None
            parent = parent.directory
        return self._at(parent, name)

    def _roots(self, importer: ModuleInfo) -> list[str]:
        folder = importer.directory
        roots = [self.package_root(folder)]
        if not self.is_package(folder) or importer.path.endswith(".ipynb"):
            roots.append(folder)
        while folder:
            folder = posixpath.dirname(folder)
            roots.append(folder)
        return list(dict.fromkeys(roots))

    def _at(self, root: str, dotted: str) -> ModuleInfo | str | None:
        base = f"{root}/{dotted.replace('.', '/')}" if root else dotted.replace(".", "/")
        return self.modules.get(base + ".py") or self._package(base)

    def _package(self, folder: str) -> ModuleInfo | str | None:
        init = self.modules.get(_init_of(folder))
        if init is not None:
            return init
        return folder if folder in self._folders else None


def _init_of(folder: str) -> str:
    return f"{folder}/__init__.py" if folder else "__init__.py"
