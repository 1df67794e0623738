"""Kinds as text: in rule tables and hints (``tensor rank 2``), and in what is shown to people."""

from __future__ import annotations

import dataclasses
import functools
import re

from chainer2torch.analysis.kinds import (
    NONE,
    UNKNOWN,
    Batch,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Mod,
    NamedTuple,
    Perhaps,
    Partial,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
)
from chainer2torch.analysis.lattice import NETWORK, join, unsure


def describe(kind: Kind) -> str:
    """A short text of a kind, for people and for tests."""
    if isinstance(kind, Tensor):
        name = "array" if kind.array else "tensor"
        return (
            name
            + (f" rank {kind.rank}" if kind.rank is not None else "")
            + (f" dtype {kind.dtype}" if kind.dtype and kind.dtype != NETWORK else "")
        )
    if isinstance(kind, HostArray):
        return (
            "host array"
            + (f" rank {kind.rank}" if kind.rank is not None else "")
            + (f" dtype {kind.dtype}" if kind.dtype else "")
        )
    if isinstance(kind, Perhaps):
        return f"perhaps {describe(kind.known)}"
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
    if isinstance(kind, Partial):
        return f"partial of {describe(kind.function)}"
    if isinstance(kind, Method):
        return f"method {kind.name} of {describe(kind.receiver)}"
    if isinstance(kind, Mod):
        return f"module {kind.info.path}"
    if isinstance(kind, NamedTuple):
        return f"namedtuple ({', '.join(kind.names)})"
    if isinstance(kind, Tup):
        return "(" + ", ".join(map(describe, kind.items)) + ")"
    if isinstance(kind, Lst):
        return f"list of {describe(kind.element)}"
    if isinstance(kind, Dct):
        return f"dict of {describe(kind.element)}"
    if isinstance(kind, Union):
        return " | ".join(sorted(map(describe, kind.options)))
    return type(kind).__name__.lower()


# what was made of a number of Python's, of NumPy's or of an array without axes, whichever it got
_NUMBER = join(Tensor(0, array=True), Scalar("float"))
REPORTED = join(Tensor(0, either=True), Scalar("float"))
"""What a model reports: a loss, the array of one, or a number."""

_SPEC = re.compile(r"^(like|same)\s+(\w+)$")


# what makes the kind depend on the arguments of a call
_OPEN = re.compile(r"\b(?:like|same|rank|dtype)\b")


def parse_spec(spec: str, bound: dict[str, Kind] | None = None, receiver: Kind | None = None) -> Kind:
    """The kind that a rule's ``returns`` or a hint names; ``bound`` are the kinds of the parameters."""
    return _parsed(spec, bound) if bound and _is_open(spec) else _closed(spec)


@functools.lru_cache(maxsize=4096)
def _is_open(spec: str) -> bool:
    return _OPEN.search(spec) is not None


@functools.lru_cache(maxsize=4096)
def _closed(spec: str) -> Kind:
    return _parsed(spec, {})


def _parsed(spec: str, bound: dict[str, Kind]) -> Kind:
    spec = spec.strip()
    if match := _SPEC.match(spec):
        kind = bound.get(match.group(2), UNKNOWN)
        if match.group(1) == "same":
            return kind
        if isinstance(kind, HostArray):  # a function of an array gives a Variable
            return Tensor(kind.rank, kind.dtype)
        return dataclasses.replace(kind, array=False, either=False) if isinstance(kind, Tensor) else Tensor()
    if spec.startswith("(") and spec.endswith(")"):
        return Tup(tuple(parse_spec(part, bound) for part in spec[1:-1].split(",")))
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
    if words[0] == "perhaps":
        return unsure(parse_spec(spec.removeprefix("perhaps "), bound))
    if words[0] == "number":
        return _NUMBER
    if words[0] == "reported":
        return REPORTED
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
