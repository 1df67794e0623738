"""The lattice of kinds: what is known statically about the value of an expression."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo


# Deeper nesting of tuples, lists and dicts is not followed: `x = (x, y)` in a loop would have no end.
_MAX_DEPTH = 8


@dataclasses.dataclass(frozen=True)
class Kind:
    """Base of all kinds."""


@dataclasses.dataclass(frozen=True)
class Unknown(Kind):
    """Nothing is known. A value of unknown kind is never rewritten on a guess."""


@dataclasses.dataclass(frozen=True)
class Const(Kind):
    """A literal of the source."""

    value: Any

    def __eq__(self, other: object) -> bool:
        # 1 == True and 1 == 1.0 in Python, but they are different literals.
        return isinstance(other, Const) and type(other.value) is type(self.value) and other.value == self.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclasses.dataclass(frozen=True)
class Scalar(Kind):
    """A Python value of a plain type (``int``, ``float``, ``bool``, ``str``) that is not a literal."""

    type: str


@dataclasses.dataclass(frozen=True)
class Ref(Kind):
    """A dotted name outside the project, in its canonical spelling: ``chainer.functions.relu``."""

    name: str


@dataclasses.dataclass(frozen=True)
class Tensor(Kind):
    """A value that is a torch tensor after migration: a Variable, or (``array``) an array on Chainer's device side."""

    rank: int | None = None
    dtype: str | None = None
    array: bool = False


@dataclasses.dataclass(frozen=True)
class HostArray(Kind):
    """A numpy array that stays a numpy array: data sets, plotting, file input."""

    rank: int | None = None
    dtype: str | None = None


@dataclasses.dataclass(frozen=True)
class Inst(Kind):
    """An instance of a class: a dotted name outside the project or a class of the project.

    ``site`` identifies the call that made it (0: not known), so that what reaches one layer can be told apart.
    """

    cls: str | ClassInfo
    site: int = 0


@dataclasses.dataclass(frozen=True)
class Class(Kind):
    """A class of the project, as a value."""

    info: ClassInfo


@dataclasses.dataclass(frozen=True)
class Func(Kind):
    """A function of the project, as a value; ``receiver`` is set when it is a bound method."""

    info: FuncInfo
    receiver: Kind | None = None


@dataclasses.dataclass(frozen=True)
class Method(Kind):
    """A method of a value outside the project: ``optimizer.update``."""

    receiver: Kind
    name: str


@dataclasses.dataclass(frozen=True)
class Mod(Kind):
    """A module of the project."""

    info: ModuleInfo


@dataclasses.dataclass(frozen=True)
class Folder(Kind):
    """A folder of the project without ``__init__.py``, imported as a namespace package."""

    path: str


@dataclasses.dataclass(frozen=True)
class Tup(Kind):
    """A tuple of known length."""

    items: tuple[Kind, ...]
    depth: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max(map(_depth, self.items), default=0)
        if depth > _MAX_DEPTH:
            object.__setattr__(self, "items", (UNKNOWN,) * len(self.items))
        object.__setattr__(self, "depth", min(depth, _MAX_DEPTH))


@dataclasses.dataclass(frozen=True)
class Lst(Kind):
    """A list, or any sequence or iterable, with elements of one kind."""

    element: Kind
    depth: int = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + _depth(self.element)
        if depth > _MAX_DEPTH:
            object.__setattr__(self, "element", UNKNOWN)
        object.__setattr__(self, "depth", min(depth, _MAX_DEPTH))


@dataclasses.dataclass(frozen=True)
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


@dataclasses.dataclass(frozen=True)
class Batch(Kind):
    """What a converter returns: one array, a tuple of arrays, or a dict of them; every part is a device array."""


@dataclasses.dataclass(frozen=True)
class Union(Kind):
    """One of a few kinds, none of which says less than the others."""

    options: frozenset[Kind]
    # the same in the order in which they were met: sets have another order in every run, and results must not
    ordered: tuple[Kind, ...] = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Bottom(Kind):
    """Not known yet: the result of code that has not been visited. Whatever is computed from it is not known yet."""


def _depth(kind: Kind) -> int:
    """How deep tuples, lists and dicts are nested in a kind."""
    if isinstance(kind, Union):
        return max(map(_depth, kind.options))
    return getattr(kind, "depth", 0)


UNKNOWN = Unknown()
BOTTOM = Bottom()
NONE = Const(None)
_MAX_UNION = 16


def options(kind: Kind) -> tuple[Kind, ...]:
    """The alternatives of a kind: itself, or the parts of a union."""
    return kind.ordered if isinstance(kind, Union) else (kind,)


def join(a: Kind | None, b: Kind | None) -> Kind:
    """The least kind that covers both; ``None`` is the bottom of the lattice."""
    if a is None or b is None:
        return b or a or UNKNOWN
    if a is b:
        return a
    if a is BOTTOM or b is BOTTOM:
        return b if a is BOTTOM else a
    if a == b:
        return a
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return UNKNOWN
    # None beside a value is an attribute that is filled later: the value's methods are what the code goes on to call.
    if isinstance(a, Const) and a.value is None:
        return b
    if isinstance(b, Const) and b.value is None:
        return a
    if isinstance(a, Union) or isinstance(b, Union):
        return _join_union(a, b)
    merged = _join_same(a, b)
    return merged if merged is not None else _union([a, b])


# `xp = cuda.cupy if gpu >= 0 else numpy`: the array module of a device
_NUMPY_OR_CUPY = ({"numpy", "cupy"}, {"numpy", "chainer.backends.cuda.cupy"})


def _join_same(a: Kind, b: Kind) -> Kind | None:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return Tensor(_same(a.rank, b.rank), _same(a.dtype, b.dtype), a.array and b.array)
    if isinstance(a, HostArray) and isinstance(b, HostArray):
        return HostArray(_same(a.rank, b.rank), _same(a.dtype, b.dtype))
    if isinstance(a, (Const, Scalar)) and isinstance(b, (Const, Scalar)):
        ta, tb = scalar_type(a), scalar_type(b)
        if ta == tb and ta is not None:
            return Scalar(ta)
        return Scalar("float") if {ta, tb} == {"int", "float"} else UNKNOWN
    if isinstance(a, Tup) and isinstance(b, Tup):
        if len(a.items) == len(b.items):
            return Tup(tuple(join(x, y) for x, y in zip(a.items, b.items)))
        return Lst(join_all([*a.items, *b.items]))
    if isinstance(a, Lst) and isinstance(b, Lst):
        return Lst(join(a.element, b.element))
    if isinstance(a, Dct) and isinstance(b, Dct):
        other = dict(b.items)
        both = tuple((k, join(v, other[k])) for k, v in a.items if k in other)  # in a's order: no change, no visit
        return Dct(join(a.element, b.element), both)
    if isinstance(a, Inst) and isinstance(b, Inst) and a.cls == b.cls:
        return Inst(a.cls)
    if isinstance(a, Ref) and isinstance(b, Ref) and {a.name, b.name} in _NUMPY_OR_CUPY:
        return Inst("xp.Module")
    return None


def _join_union(a: Kind, b: Kind) -> Kind:
    parts: list[Kind] = []
    for kind in (*options(a), *options(b)):
        for i, other in enumerate(parts):
            merged = kind if kind == other else _join_same(kind, other)
            if merged is not None:
                parts[i] = merged
                break
        else:
            parts.append(kind)
    return parts[0] if len(parts) == 1 else _union(parts)


def _union(parts: list[Kind]) -> Kind:
    # A union whose parts are unrelated plain values tells a rule nothing.
    if len(parts) > _MAX_UNION or UNKNOWN in parts:
        return UNKNOWN
    return Union(frozenset(parts), tuple(parts))


def join_all(kinds: list[Kind]) -> Kind:
    """The join of several kinds; UNKNOWN for none."""
    result: Kind | None = None
    for kind in kinds:
        result = join(result, kind)
    return result if result is not None else UNKNOWN


def _same(a: Any, b: Any) -> Any:
    return a if a == b else None


def scalar_type(kind: Kind) -> str | None:
    """``int``, ``float``, ``bool``, ``str`` of a plain value, else None."""
    if isinstance(kind, Scalar):
        return kind.type
    if isinstance(kind, Const):
        return type(kind.value).__name__
    return None


def generalized(kind: Kind) -> Kind:
    """A literal as its type: what a default says of the values that other callers may pass."""
    return Scalar(type(kind.value).__name__) if isinstance(kind, Const) and kind.value is not None else kind


def element_of(kind: Kind) -> Kind:
    """The kind of the elements when a value is iterated over."""
    if kind is BOTTOM:
        return BOTTOM
    if isinstance(kind, Tup):
        return join_all(list(kind.items))
    if isinstance(kind, Lst):
        return kind.element
    if isinstance(kind, (Tensor, HostArray)):
        return dataclasses.replace(kind, rank=None if kind.rank is None else kind.rank - 1)
    if isinstance(kind, Batch):
        return Tensor(array=True)
    if isinstance(kind, Union):
        return join_all([element_of(k) for k in kind.ordered])
    return UNKNOWN


def describe(kind: Kind) -> str:
    """A short text of a kind, for people and for tests."""
    if isinstance(kind, Tensor):
        name = "array" if kind.array else "tensor"
        return (
            name
            + (f" rank {kind.rank}" if kind.rank is not None else "")
            + (f" dtype {kind.dtype}" if kind.dtype else "")
        )
    if isinstance(kind, HostArray):
        return (
            "host array"
            + (f" rank {kind.rank}" if kind.rank is not None else "")
            + (f" dtype {kind.dtype}" if kind.dtype else "")
        )
    if isinstance(kind, Inst):
        return "instance " + (kind.cls if isinstance(kind.cls, str) else kind.cls.name)
    if isinstance(kind, Const):
        return repr(kind.value)
    if isinstance(kind, Scalar):
        return kind.type
    if isinstance(kind, Ref):
        return kind.name
    if isinstance(kind, (Class, Func)):
        return f"{type(kind).__name__.lower()} {kind.info.name}"
    if isinstance(kind, Method):
        return f"method {kind.name} of {describe(kind.receiver)}"
    if isinstance(kind, Mod):
        return f"module {kind.info.path}"
    if isinstance(kind, Tup):
        return "(" + ", ".join(map(describe, kind.items)) + ")"
    if isinstance(kind, Lst):
        return f"list of {describe(kind.element)}"
    if isinstance(kind, Dct):
        return f"dict of {describe(kind.element)}"
    if isinstance(kind, Union):
        return " | ".join(sorted(map(describe, kind.options)))
    return type(kind).__name__.lower()


_SPEC = re.compile(r"^(like|same)\s+(\w+)$")


def parse_spec(spec: str, bound: dict[str, Kind] | None = None, receiver: Kind | None = None) -> Kind:
    """The kind that a rule's ``returns`` or a hint names; ``bound`` are the kinds of the parameters."""
    spec = spec.strip()
    bound = bound or {}
    if match := _SPEC.match(spec):
        kind = bound.get(match.group(2), UNKNOWN)
        if match.group(1) == "same":
            return kind
        if isinstance(kind, HostArray):  # a function of an array gives a Variable
            return Tensor(kind.rank, kind.dtype)
        return dataclasses.replace(kind, array=False) if isinstance(kind, Tensor) else Tensor()
    for prefix, make in (("tuple of ", Lst), ("list of ", Lst), ("dict of ", Dct), ("pairs of ", _named)):
        if spec.startswith(prefix):
            return make(parse_spec(spec[len(prefix) :], bound))
    words = spec.split()
    if not words or words[0] == "unknown":
        return UNKNOWN
    if words[0] == "none":
        return NONE
    if words[0] in ("int", "float", "bool", "str"):
        return Scalar(words[0])
    if words[0] == "batch":
        return Batch()
    if words[0] == "instance" and len(words) == 2:
        return Inst(words[1])
    if words[0] in ("tensor", "array", "device"):
        fields = dict(zip(words[1::2], words[2::2]))
        rank = _rank(fields.get("rank"), bound)
        dtype = fields.get("dtype")
        if dtype in bound:
            source = bound[dtype]
            dtype = source.dtype if isinstance(source, (Tensor, HostArray)) else None
        if words[0] == "array":
            return HostArray(rank, dtype)
        return Tensor(rank, dtype, array=words[0] == "device")
    return UNKNOWN


def _named(kind: Kind) -> Kind:
    """What a method like ``namedparams`` gives: pairs of a name and a value."""
    return Lst(Tup((Scalar("str"), kind)))


def _rank(text: str | None, bound: dict[str, Kind]) -> int | None:
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    match = re.match(r"^(\w+)(?:([+-])(\d+))?$", text)
    kind = bound.get(match.group(1)) if match else None
    if not isinstance(kind, (Tensor, HostArray)) or kind.rank is None or match is None:
        return None
    offset = int(match.group(3) or 0)
    return kind.rank + (offset if match.group(2) == "+" else -offset)
