"""Kinds: what is known about the value of an expression before the program runs.

A kind is an abstract value. For ``h = F.relu(x)`` the analysis gives ``h`` the kind ``Tensor``; for ``layer =
L.Linear(3, 4)`` it gives ``Inst("chainer.links.Linear")``. Kinds are immutable and can be compared. How two of them are
joined is in ``lattice.py``; how they are written as text is in ``kind_specs.py``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.kind_base import Kind as Kind  # the name that everybody imports from here
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo


# Deeper nesting of tuples, lists and dicts is not followed: `x = (x, y)` in a loop would have no end.
_MAX_DEPTH = 8


@dataclass(frozen=True, eq=False)  # there is one of it, and it is asked for more than all others
class Unknown(Kind):
    """Nothing is known. A value of unknown kind is never rewritten on a guess."""


@dataclass(frozen=True, eq=False)  # with its own
class Perhaps(Unknown):
    """Nothing is sure, but on some way of the program ``known`` comes here: an array, a shape, what holds one.

    It equals ``UNKNOWN``, so that nobody takes it for more than that. Code that is right for both, because it looks at
    run time, is written where this is known, and nowhere else: everything might be a tensor, and most is none.
    """

    known: Kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return hash(UNKNOWN)


@dataclass(frozen=True, eq=False)  # with its own
class Loaded(Unknown):
    """What ``pickle.load`` gives. It equals ``UNKNOWN``; beside an object that another branch makes, it is one, too."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return hash(UNKNOWN)


@dataclass(frozen=True, eq=False)  # with its own
class Const(Kind):
    """A literal of the source."""

    value: Any

    def __eq__(self, other: object) -> bool:
        # 1 == True and 1 == 1.0 in Python, but they are different literals.
        return isinstance(other, Const) and type(other.value) is type(self.value) and other.value == self.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Scalar(Kind):
    """A Python value of a plain type (``int``, ``float``, ``bool``, ``str``) that is not a literal."""

    type: str


@dataclass(frozen=True)
class Ref(Kind):
    """A dotted name outside the project, in its canonical spelling: ``chainer.functions.relu``."""

    name: str


@dataclass(frozen=True)
class Tensor(Kind):
    """A value that is a torch tensor after migration: a Variable, or (``array``) an array on Chainer's device side.

    ``either`` (and not ``array``): an array on some ways of the program and a Variable on others.
    """

    rank: int | None = None
    dtype: str | None = None
    array: bool = False
    either: bool = False


@dataclass(frozen=True)
class HostArray(Kind):
    """A numpy array that stays a numpy array: data sets, plotting, file input."""

    rank: int | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class Inst(Kind):
    """An instance of a class: a dotted name outside the project or a class of the project.

    ``site`` identifies the call that made it (0: not known), so that what reaches one layer can be told apart. A link
    or optimizer of Chainer's that may have been made by one of several calls has these in ``among``.
    """

    cls: str | ClassInfo
    site: int = 0
    among: tuple[int, ...] = dataclasses.field(default=(), repr=False)

    @property
    def sites(self) -> tuple[int, ...]:
        """The calls that may have made it, as far as they are known."""
        return (self.site,) if self.site else self.among


@dataclass(frozen=True)
class Class(Kind):
    """A class of the project, as a value."""

    info: ClassInfo


@dataclass(frozen=True)
class Func(Kind):
    """A function of the project, as a value; ``receiver`` is set when it is a bound method."""

    info: FuncInfo
    receiver: Kind | None = None


@dataclass(frozen=True)
class Partial(Kind):
    """What ``functools.partial`` makes of a function of the project or of Chainer's, which is none itself."""

    function: Func | Ref
    args: tuple[Kind, ...] = ()
    keywords: tuple[tuple[str, Kind], ...] = ()


@dataclass(frozen=True)
class Method(Kind):
    """A method of a value outside the project: ``optimizer.update``."""

    receiver: Kind
    name: str


@dataclass(frozen=True)
class Mod(Kind):
    """A module of the project."""

    info: ModuleInfo


@dataclass(frozen=True)
class Folder(Kind):
    """A folder of the project without ``__init__.py``, imported as a namespace package."""

    path: str


@dataclass(frozen=True)
class Tup(Kind):
    """A tuple of known length; ``names`` are those of its items where a class of ``namedtuple`` made it.

    ``sized``: the shape of a tensor on some way of the program, which is a ``torch.Size`` after migration.
    """

    items: tuple[Kind, ...]
    names: tuple[str, ...] = ()
    sized: bool = False
    depth: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max(map(_depth, self.items), default=0)
        if depth > _MAX_DEPTH:
            object.__setattr__(self, "items", (UNKNOWN,) * len(self.items))
        object.__setattr__(self, "depth", min(depth, _MAX_DEPTH))


@dataclass(frozen=True)
class NamedTuple(Kind):
    """A class that ``collections.namedtuple`` made, with the names of its fields."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Lst(Kind):
    """A list, or any sequence or iterable, with elements of one kind; ``sized``: the shape of a tensor."""

    element: Kind
    sized: bool = False
    depth: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + _depth(self.element)
        if depth > _MAX_DEPTH:
            object.__setattr__(self, "element", UNKNOWN)
        object.__setattr__(self, "depth", min(depth, _MAX_DEPTH))


@dataclass(frozen=True)
class Stream(Lst):
    """What can be walked again and again and is neither list nor tuple, as torch asks: a deque, a dict's values."""


@dataclass(frozen=True)
class Dct(Kind):
    """A dictionary with values of one kind; ``items`` are the literal keys that are known."""

    element: Kind
    items: tuple[tuple[Any, Kind], ...] = ()
    depth: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max(_depth(self.element), *(_depth(kind) for _, kind in self.items), 0)
        if depth > _MAX_DEPTH:
            object.__setattr__(self, "element", UNKNOWN)
            object.__setattr__(self, "items", ())
        object.__setattr__(self, "depth", min(depth, _MAX_DEPTH))


@dataclass(frozen=True)
class Batch(Kind):
    """What a converter returns: one array, a tuple of arrays, or a dict of them; every part is a device array."""


@dataclass(frozen=True)
class Union(Kind):
    """One of a few kinds, none of which says less than the others."""

    options: frozenset[Kind]
    # the same in the order in which they were met: sets have another order in every run, and results must not
    ordered: tuple[Kind, ...] = dataclasses.field(compare=False)
    # whether no two of them would merge if they were joined once more; None: nobody has looked
    apart: bool | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Bottom(Kind):
    """Not known yet: the result of code that has not been visited. Whatever is computed from it is not known yet."""


def _depth(kind: Kind) -> int:
    """How deep tuples, lists and dicts are nested in a kind."""
    if isinstance(kind, Union):
        return max(map(_depth, kind.options))
    if isinstance(kind, Perhaps):
        return _depth(kind.known)
    return getattr(kind, "depth", 0)


UNKNOWN = Unknown()
LOADED = Loaded()
BOTTOM = Bottom()
NONE = Const(None)


def options(kind: Kind) -> tuple[Kind, ...]:
    """The alternatives of a kind: itself, or the parts of a union."""
    return kind.ordered if isinstance(kind, Union) else (kind,)


def scalar_type(kind: Kind) -> str | None:
    """``int``, ``float``, ``bool``, ``str`` of a plain value, else None."""
    if isinstance(kind, Scalar):
        return kind.type
    if isinstance(kind, Const):
        return type(kind.value).__name__
    if isinstance(kind, Ref) and kind.name in _FLOATS:
        return "float"
    return None


# numbers that modules hold under a name
_FLOATS = frozenset({f"{m}.{n}" for m in ("math", "numpy") for n in ("pi", "e", "inf", "nan")} | {"math.tau"})
