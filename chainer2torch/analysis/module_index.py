"""The index of a project: its modules and how an import statement in one file finds another."""

from __future__ import annotations

import ast
import dataclasses
import functools
import posixpath
from collections.abc import Mapping

from chainer2torch.analysis.helper_homes import HelperHome
from chainer2torch.analysis.kind_base import Kind
from chainer2torch.analysis.outlines import outline_of
from chainer2torch.analysis.places import FileInfo, Places
from chainer2torch.analysis.source import Nodes, Source, nodes_of, within


_OF_LISTS = frozenset({"zip", "enumerate", "len", "list", "map"})


class Names(dict[str, "Kind"]):
    """The kinds of a module's names. Put in one by one: so it is known when an answer is out of date."""

    # whether one stands for something of Chainer's; None: to be found out
    of_chainer: bool | None = None

    def __setitem__(self, name: str, kind: Kind) -> None:
        self.of_chainer = None
        super().__setitem__(name, kind)


@dataclasses.dataclass(eq=False, repr=False)
class ModuleInfo:
    """One source file."""

    path: str
    source: Source
    env: Names = dataclasses.field(default_factory=Names)
    # `from m import *` of names outside the project, searched when a name is not found
    stars: list[str] = dataclasses.field(default_factory=list)
    bound: bool = False
    # lists and dictionaries into which functions put something
    grown: set[str] = dataclasses.field(default_factory=set)
    # what local variables have to which a function inside assigns (``nonlocal``)
    inner: dict[str, Kind] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:  # the whole index hangs on each of these classes: a generated text would never end
        return f"ModuleInfo({self.path!r})"

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the file."""
        return self.source.tree

    @functools.cached_property
    def nonlocals(self) -> frozenset[str]:
        """The names that some function of the file declares ``nonlocal``."""
        return frozenset(name for node in self.source.of(ast.Nonlocal) for name in node.names)

    @property
    def directory(self) -> str:
        """The folder of the file, '' for the top of the tree."""
        return posixpath.dirname(self.path)


class Signature:
    """The names of a function's parameters, and the defaults of those that have one."""

    def __init__(self, a: ast.arguments):
        self.positional = [p.arg for p in (*a.posonlyargs, *a.args)]
        self.by_keyword = [p.arg for p in a.kwonlyargs]
        self.names = [*self.positional, *self.by_keyword]
        self.defaults = list(zip(self.positional[::-1], a.defaults[::-1]))
        self.defaults += [(name, value) for name, value in zip(self.by_keyword, a.kw_defaults) if value is not None]
        self.with_default = {name for name, _ in self.defaults}


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
    # what each of its return statements gives, where there are several
    gives: dict[ast.Return, Kind] = dataclasses.field(default_factory=dict)
    is_property: bool = False
    is_static: bool = False
    is_classmethod: bool = False
    is_generator: bool = False
    # whether a decorator takes or returns something else
    is_changed: bool = False
    # what a decorator has put in its place, if that hands all arguments on to it
    wrapper: ast.FunctionDef | None = None
    # the functions that it decorates: what its parameter gives where it is called
    decorates: dict[FuncInfo, None] = dataclasses.field(default_factory=dict)
    # whether some call of it was seen, even one whose arguments are not known yet
    called: bool = False
    # parameters that some call gives an array on the host, whatever others give them
    host_fed: set[str] = dataclasses.field(default_factory=set)
    # parameters that some call gives a tensor, whatever others give them
    tensor_fed: set[str] = dataclasses.field(default_factory=set)
    # parameters that some call gives a list, a tuple or a dict, whatever others give them
    list_fed: set[str] = dataclasses.field(default_factory=set)
    # whether parameters that no call feeds have got what Chainer's protocols say of them
    seeded: bool = False
    # the names of the function around it, when it was made: they may stand for something else when that one ends
    made_among: dict[str, Kind] = dataclasses.field(default_factory=dict)
    # the lists and dictionaries into which functions inside of it put something, and those of its own parameters
    filled: dict[str, Kind] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"FuncInfo({self.name!r}, {self.module!r})"

    @functools.cached_property
    def inside(self) -> Nodes:
        """Its nodes."""
        return Nodes(nodes_of(self.node))

    @functools.cached_property
    def kept(self) -> frozenset[str]:
        """The attributes that a method gives its last parameter as it is: ``self._last = value``."""
        names = [p.arg for p in self.node.args.args]
        return frozenset(
            target.attr
            for node in self.inside.of(ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == names[0]
            if isinstance(node.value, ast.Name) and node.value.id == names[-1]
        )

    @functools.cached_property
    def is_announced(self) -> bool:
        """Whether a method gives nothing: it raises in the end, or it has no body. Its class leaves it to others."""
        if self.cls is None or isinstance(self.node, ast.Lambda):
            return False
        body = [n for n in self.node.body if not isinstance(n, ast.Expr) or not isinstance(n.value, ast.Constant)]
        if all(isinstance(one, ast.Pass) for one in body):
            return True
        return isinstance(body[-1], ast.Raise) and not self.inside.of(ast.Return, ast.Yield, ast.YieldFrom)

    @functools.cached_property
    def signature(self) -> Signature:
        """Its parameters, as its calls ask for them again and again."""
        return Signature(self.node.args)

    @functools.cached_property
    def uses(self) -> dict[str, list[ast.Name]]:
        """Where names are read in it, by name."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.inside.of(ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    @functools.cached_property
    def stored(self) -> frozenset[str]:
        """The names that it binds itself."""
        return frozenset(node.id for node in self.inside.of(ast.Name) if not isinstance(node.ctx, ast.Load))

    @functools.cached_property
    def ends(self) -> int:
        """How many return statements are in it."""
        return len(self.inside.of(ast.Return))

    @functools.cached_property
    def walked(self) -> frozenset[str]:
        """The names through which its body goes, one item after the other."""
        loops = self.inside.of(ast.For, ast.comprehension)
        return frozenset(node.iter.id for node in loops if isinstance(node.iter, ast.Name))

    @functools.cached_property
    def listed(self) -> frozenset[str]:
        """The names that its body treats as lists of things, which a batch in one tensor is not."""
        found: set[str] = set()
        for node in self.inside.of(ast.For, ast.comprehension, ast.Starred, ast.Call):
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
    # what runs when a property is assigned to
    setters: dict[str, FuncInfo] = dataclasses.field(default_factory=dict)
    attrs: dict[str, Kind] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ClassInfo({self.name!r}, {self.module!r})"

    @functools.cached_property
    def persistent(self) -> frozenset[str]:
        """The names in ``self.register_persistent('name')``, also those of a loop: arrays under them are buffers."""
        return frozenset(
            name
            for call in within(self.node).of(ast.Call)
            if isinstance(call.func, ast.Attribute)
            and call.func.attr in ("register_persistent", "add_persistent")
            and isinstance(call.func.value, ast.Name)
            and call.args
            for name in _texts(self.node, call.args[0])
        )

    @functools.cached_property
    def moved(self) -> frozenset[str]:
        """The names in ``self.name = cuda.to_gpu(self.name)``: arrays that the class moves itself."""
        return frozenset(
            target.attr
            for node in nodes_of(self.node)
            if isinstance(node, ast.Assign) and _is_sent(node.value)
            for target in node.targets
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
        )


def _texts(around: ast.AST, name: ast.expr) -> set[str]:
    """The text itself, or those that a loop gives a name in turn where they are written: ``for n in ('a', 'b')``."""
    if isinstance(name, ast.Constant):
        return {name.value} if isinstance(name.value, str) else set()
    loops = within(around).of(ast.For) if isinstance(name, ast.Name) else []
    return {
        text.value
        for loop in loops
        if name in nodes_of(loop) and ast.unparse(loop.target) == ast.unparse(name)
        for text in getattr(loop.iter, "elts", ())
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    }


def _is_sent(value: ast.expr) -> bool:
    """``to_gpu(self.x)``, by its name."""
    call = value if isinstance(value, ast.Call) and value.args else None
    if call is None or not isinstance(call.args[0], ast.Attribute) or not isinstance(call.args[0].value, ast.Name):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name == "to_gpu"


class Apart(Exception):
    """A file was asked for that is analysed apart from those that ask: they have to be analysed together."""


class Project:
    """The modules of one analysis: all files of a project, or a part of it that nothing connects with the others.

    Where imports find a file is decided by the ``whole`` project.
    """

    def __init__(self, sources: Mapping[str, Source], pinned: int | None = None, whole: Places | None = None):
        self.modules = {path: ModuleInfo(path, source) for path, source in sources.items()}
        self.whole = whole or Places({path: outline_of(source) for path, source in sources.items()}, pinned)

    @property
    def eras(self) -> dict[str, int | None]:
        """For which version of Chainer each file was written: 1, 2 (or later) or None."""
        return self.whole.eras

    @property
    def import_folders(self) -> dict[str, set[str]]:
        """The folders from which absolute imports of a file were seen to resolve, by the file that is imported."""
        return self.whole.import_folders

    def is_package(self, folder: str) -> bool:
        """Whether the folder has an ``__init__.py`` in this project."""
        return self.whole.is_package(folder)

    def helper_home(self, path: str) -> HelperHome:
        """Where the helpers of a file lie, and how it imports them."""
        return self.whole.helper_home(path)

    def find(self, dotted: str, importer: ModuleInfo) -> ModuleInfo | str | None:
        """The module (or the folder of a namespace package) that an absolute import finds; None: not ours."""
        return self._own(self.whole.find(dotted, importer))

    def find_relative(self, level: int, dotted: str, importer: ModuleInfo) -> ModuleInfo | str | None:
        """The module that ``from ..x import`` finds."""
        return self._own(self.whole.find_relative(level, dotted, importer))

    def submodule(self, parent: ModuleInfo | str, name: str) -> ModuleInfo | str | None:
        """A module below a package or namespace folder."""
        return self._own(self.whole.submodule(parent, name))

    def _own(self, found: FileInfo | str | None) -> ModuleInfo | str | None:
        if not isinstance(found, FileInfo):
            return found
        module = self.modules.get(found.path)
        if module is None:
            raise Apart(found.path)
        return module
