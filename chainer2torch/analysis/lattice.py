"""The lattice of kinds: how what is known along two paths of a program becomes what is known after both.

``join(a, b)`` is the least kind that covers both. The lattice has ``BOTTOM`` at its bottom (not known yet) and
``UNKNOWN`` at its top (nothing is known), so a kind that is joined again and again can only move up.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable
from typing import Any

from chainer2torch.analysis.kinds import (
    BOTTOM,
    Batch,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Loaded,
    Lst,
    Method,
    Perhaps,
    Ref,
    Scalar,
    Stream,
    Tensor,
    Tup,
    UNKNOWN,
    Union,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.module_index import ClassInfo


# A union of more kinds than this says too little to be worth its cost.
_MAX_UNION = 16
_MOST_OBJECTS = 2  # and their methods, among what may come where nothing is sure
_MOST_VALUES = 6
_MAX_FUNCTIONS = 48  # of a table of functions and classes of the program's own, each of which is called from there


def join(a: Kind | None, b: Kind | None) -> Kind:
    """The least kind that covers both; ``None`` is the bottom of the lattice."""
    if a is None or b is None:
        return b or a or UNKNOWN
    if a is b:
        return a
    if a is BOTTOM or b is BOTTOM:
        return b if a is BOTTOM else a
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return _beside_loaded(a, b) or _beside_loaded(b, a) or unsure(a, b)
    if a == b:
        return _join_same(a, b) or a if isinstance(a, (Dct, Lst, Tup)) and says_more(b, a) else a
    # None beside a value is an attribute that is filled later: the value's methods are what the code goes on to call.
    if isinstance(a, Const) and a.value is None:
        return b
    if isinstance(b, Const) and b.value is None:
        return a
    if isinstance(a, Union) or isinstance(b, Union):
        return _join_union(a, b)
    merged = _join_same(a, b)
    return merged if merged is not None else _union([a, b])


def _beside_loaded(loaded: Kind, other: Kind) -> Kind | None:
    """``net = pickle.load(f) if args.resume else Net()``: what is asked of the one link is asked of the other.

    Only links: an optimizer that was read holds parameters of its own.
    """
    made = isinstance(loaded, Loaded) and all(isinstance(k, Inst) and _is_link(k.cls) for k in options(other))
    return other if made else None


def _is_link(cls: object, depth: int = 8) -> bool:
    """Whether a class is one of Chainer's links, or has one among its bases, of which some depth is looked at."""
    if isinstance(cls, ClassInfo):
        bases = [base.info if isinstance(base, Class) else getattr(base, "name", "") for base in cls.bases]
        return depth > 0 and any(_is_link(base, depth - 1) for base in bases)
    return isinstance(cls, str) and (cls in _LINKS or cls.startswith("chainer.links."))


_LINKS = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.FunctionSet", "chainer.Link", "chainer.Sequential"})


def unsure(*kinds: Kind | None) -> Kind:
    """Nothing is sure, but that one of these may come: an unknown kind that keeps what matters of them."""
    known: Kind | None = None
    for kind in kinds:
        if kind is None or kind is UNKNOWN:
            continue
        for one in options(kind.known if isinstance(kind, Perhaps) else kind):
            # those that come first are kept, so that they stay the same when more is met
            most = _MOST_OBJECTS if isinstance(one, (Func, Inst)) else _MOST_VALUES
            if known is not one and _matters(one) and (known is None or len(options(known)) < most):
                known = join(known, one)
    return UNKNOWN if known is None or isinstance(known, Unknown) else Perhaps(known)


def _matters(kind: Kind) -> bool:
    """Whether a value looks or behaves otherwise after the migration, or holds one that does."""
    if isinstance(kind, (Lst, Tup)):
        items = (kind.element,) if isinstance(kind, Lst) else kind.items
        return kind.sized or any(_matters(one) for item in items for one in options(item))
    if isinstance(kind, Dct):
        return any(_matters(one) for one in options(kind.element))
    if isinstance(kind, Method):
        return isinstance(kind.receiver, Tensor) or isinstance(kind.receiver, (Lst, Dct)) and _matters(kind.receiver)
    if isinstance(kind, Func):
        return isinstance(kind.receiver, Inst) and _matters(kind.receiver)
    if isinstance(kind, Inst):  # it may hold one
        return isinstance(kind.cls, ClassInfo) and not _is_link(kind.cls)
    return isinstance(kind, (HostArray, Tensor, Perhaps))


def says_more(new: Kind, old: Kind | None) -> bool:
    """Whether a summary has changed: also one of which nothing is sure as before, but something more may come."""
    if new is old:
        return False
    if new != old:
        return True
    if isinstance(new, Perhaps):
        return not isinstance(old, Perhaps) or says_more(new.known, old.known)
    if isinstance(new, Union) and isinstance(old, Union):
        return any(says_more(one, next(k for k in old.ordered if k == one)) for one in new.ordered)
    if isinstance(new, (Lst, Dct)) and isinstance(old, (Lst, Dct)):
        return says_more(new.element, old.element)
    return isinstance(new, Tup) and isinstance(old, Tup) and any(map(says_more, new.items, old.items))


# `xp = cuda.cupy if gpu >= 0 else numpy`: the array module of a device
_NUMPY_OR_CUPY = ({"numpy", "cupy"}, {"numpy", "chainer.backends.cuda.cupy"})


# of these it matters which one is called: what reaches a layer is only known when all of its calls are
_LAYERS = ("chainer.links.", "chainer.Sequential")
_TOLD_APART = ("chainer.optimizers.", "chainer.iterators.", "argparse.Namespace")
PLAIN_LINKS = frozenset({"chainer.Chain", "chainer.Link"})  # links of no class of their own: each holds something else
_MOST_SITES = 12  # of one optimizer or iterator; those of which more is not known have none


# kinds that may merge with one of another class
_ALIKE: dict[type[Kind], str] = {Const: "plain", Scalar: "plain", Lst: "list", Stream: "list"}
# kinds of which two that are equal are the same in all; others may hold what is unknown, which equals what may come
_ALL_COMPARED = frozenset({Class, HostArray, Inst, Ref, Scalar, Tensor})
# kinds that never merge: they are the same, or two
_APART = frozenset({Class, Func, Method})


def _join_same(a: Kind, b: Kind) -> Kind | None:
    if a.__class__ is b.__class__:
        if a.__class__ in _APART:
            return None
    elif a.__class__ not in _ALIKE or _ALIKE[a.__class__] != _ALIKE.get(b.__class__):
        return None
    if isinstance(a, Inst) and isinstance(b, Inst):
        return Inst(a.cls, among=_among(a, b)) if a.cls == b.cls else None
    if isinstance(a, (Const, Scalar)) and isinstance(b, (Const, Scalar)):
        ta, tb = scalar_type(a), scalar_type(b)
        if ta == tb and ta is not None:
            return Scalar(ta)
        return Scalar("float") if {ta, tb} == {"int", "float"} else UNKNOWN
    if isinstance(a, Ref) and isinstance(b, Ref):
        return Inst("xp.Module") if {a.name, b.name} in _NUMPY_OR_CUPY else None
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        either = a.either or b.either or a.array != b.array
        return Tensor(_same(a.rank, b.rank), common_floats(a.dtype, b.dtype), a.array and b.array, either)
    if isinstance(a, HostArray) and isinstance(b, HostArray):
        return HostArray(_same(a.rank, b.rank), common_floats(a.dtype, b.dtype))
    if isinstance(a, Tup) and isinstance(b, Tup):
        if len(a.items) == len(b.items):
            names, sized = a.names if a.names == b.names else (), a.sized or b.sized
            items = tuple(map(join, a.items, b.items))
            if names == b.names and sized == b.sized and all(map(_is_same, items, b.items)):
                return b
            return Tup(items, names, sized)
        element = join_all([*a.items, *b.items])
        # a function that returns more if it is asked to: who takes its result apart knows how many there are
        plain = isinstance(element, Scalar) or not (a.items and b.items)
        return Lst(element, a.sized or b.sized) if plain else None
    if isinstance(a, Lst) and isinstance(b, Lst):
        if a.sized != b.sized:
            return None  # a shape is written as a tuple, a list as it is
        made = Stream if isinstance(a, Stream) and isinstance(b, Stream) else Lst
        element = join(a.element, b.element)
        return b if made is b.__class__ and _is_same(element, b.element) else made(element, a.sized)
    if isinstance(a, Dct) and isinstance(b, Dct):
        other = dict(b.items)
        both = tuple((k, join(v, other[k])) for k, v in a.items if k in other)  # in a's order: no change, no visit
        return Dct(join(a.element, b.element), both)
    return None


def _among(a: Inst, b: Inst) -> tuple[int, ...]:
    """The calls that may have made one of two instances: of layers those that are known, of others all or none."""
    sites = tuple(sorted({*a.sites, *b.sites}))
    if isinstance(a.cls, str) and (a.cls.startswith(_TOLD_APART) or a.cls in PLAIN_LINKS):
        return sites if a.sites and b.sites and len(sites) <= _MOST_SITES else ()
    return sites if isinstance(a.cls, str) and a.cls.startswith(_LAYERS) else ()


def _join_union(a: Kind, b: Kind) -> Kind:
    before, apart = options(a), _is_apart(a)
    parts = list(before) if apart else []
    replaced, merged = _add(parts, options(b) if apart else (*before, *options(b)))
    if merged:  # two may have become the same: CuPy beside an array module, and then NumPy
        parts = list(dict.fromkeys(parts))
    if len(parts) == len(before) and all(map(operator.is_, parts, before)):
        return a
    return parts[0] if len(parts) == 1 else _union(parts, apart and not replaced and not merged)


def _add(parts: list[Kind], kinds: Iterable[Kind]) -> tuple[bool, bool]:
    """Adds kinds to the parts of a union: whether one took the place of an equal one, and whether two have merged."""
    replaces = merges = False
    for kind in kinds:
        for i, other in enumerate(parts):
            if kind is other:
                break
            if kind.__class__ is other.__class__:
                if kind.__class__ is Inst and kind.cls != other.cls:  # type: ignore[attr-defined]
                    continue
            elif _ALIKE.get(kind.__class__, "") != _ALIKE.get(other.__class__):
                continue  # neither the same nor alike: so are most pairs, and no loop runs more often
            if kind == other:
                more = join(other, kind)
                if not _is_same(more, other):
                    parts[i], replaces = more, True
                break
            merged = _join_same(kind, other)
            if merged is not None:
                if not _is_same(merged, other):
                    parts[i], merges = merged, True
                break
        else:
            parts.append(kind)
    return replaces, merges


def _is_apart(kind: Kind) -> bool:
    """Whether no two parts of a union would merge, so that they need not be compared whenever something joins it."""
    if not isinstance(kind, Union):
        return True
    if kind.apart is None:
        parts: list[Kind] = []
        changes = _add(parts, kind.ordered)
        object.__setattr__(kind, "apart", not any(changes) and len(parts) == len(kind.ordered))
    return bool(kind.apart)


def _is_same(new: Kind, old: Kind) -> bool:
    """Whether a kind says what another does, to the last detail: what may come, and in which order. No: perhaps."""
    if new is old:
        return True
    if new.__class__ is not old.__class__:
        return False
    if isinstance(new, Lst) and isinstance(old, Lst):
        return new.sized == old.sized and _is_same(new.element, old.element)
    if isinstance(new, Tup) and isinstance(old, Tup):
        if new.names != old.names or new.sized != old.sized or len(new.items) != len(old.items):
            return False
        return all(map(_is_same, new.items, old.items))
    if isinstance(new, Perhaps) and isinstance(old, Perhaps):
        return _is_same(new.known, old.known)
    if isinstance(new, Union) and isinstance(old, Union):
        return len(new.ordered) == len(old.ordered) and all(map(_is_same, new.ordered, old.ordered))
    return new.__class__ in _ALL_COMPARED and new == old


def _union(parts: list[Kind], apart: bool = False) -> Kind:
    # A union whose parts are unrelated plain values tells a rule nothing.
    most = _MAX_FUNCTIONS if all(isinstance(kind, (Class, Func)) for kind in parts) else _MAX_UNION
    if len(parts) > most or UNKNOWN in parts:
        return unsure(*parts)
    return Union(frozenset(parts), tuple(parts), apart or None)


def join_all(kinds: list[Kind]) -> Kind:
    """The join of several kinds; UNKNOWN for none."""
    result: Kind | None = None
    for kind in kinds:
        result = join(result, kind)
    return result if result is not None else UNKNOWN


def called_of(kind: Kind) -> Kind:
    """What of a kind can be called: no list, tuple or number that stands for the value elsewhere."""
    callable_ones = [k for k in options(kind) if not isinstance(k, (Tup, Lst, Dct, Scalar, HostArray, Tensor))]
    return join_all(callable_ones) if callable_ones else kind


def _same(a: Any, b: Any) -> Any:
    return a if a == b else None


NETWORK = "floats"
"""The dtype of a kind that holds floats of the size that a network computes with, where nobody says which that is."""

MIXED = "mixed"
"""The dtype of a kind that holds whole numbers on some ways of the program, and floats on others."""

_WHOLE = frozenset({"int32", "int64"})
_OF_NETWORKS = frozenset({NETWORK, "float16", "float32"})


def common_floats(a: str | None, b: str | None) -> str | None:
    """The dtype of what has one of two: a network's where float64 is not among them, ``floating`` of any size.

    Whole numbers on one way and floats on another are ``mixed``.
    """
    if a == b or a is None or b is None:
        return a if a == b else None
    if NETWORK in (a, b) and {a, b} <= _OF_NETWORKS:
        return NETWORK
    if NETWORK in (a, b) and a.startswith("float") and b.startswith("float"):
        return "floating"
    whole = [d in _WHOLE or d == MIXED for d in (a, b)]
    return MIXED if any(whole) and all(w or d.startswith("float") for w, d in zip(whole, (a, b))) else None


def generalized(kind: Kind) -> Kind:
    """A literal as its type: what a default says of the values that other callers may pass."""
    return Scalar(type(kind.value).__name__) if isinstance(kind, Const) and kind.value is not None else kind


def lacks_element(kind: Kind) -> bool:
    """Whether a container holds, at any depth, what is not known yet: ``[]`` before anything is appended."""
    if isinstance(kind, (Lst, Dct)):
        return kind.element is BOTTOM or lacks_element(kind.element)
    return isinstance(kind, Tup) and any(item is BOTTOM or lacks_element(item) for item in kind.items)


def element_of(kind: Kind) -> Kind:
    """The kind of the elements when a value is iterated over."""
    if kind is BOTTOM:
        return BOTTOM
    if isinstance(kind, Tup):
        return join_all(list(kind.items))
    if isinstance(kind, Lst):
        return kind.element
    if isinstance(kind, (Tensor, HostArray)):
        return dataclasses.replace(kind, rank=kind.rank - 1 if kind.rank else None)
    if isinstance(kind, Batch):
        return Tensor(array=True)
    if isinstance(kind, Union):
        return join_all([element_of(k) for k in kind.ordered])
    return unsure(element_of(kind.known)) if isinstance(kind, Perhaps) else UNKNOWN
