"""How unions are joined: parts that are known to stay apart are not compared again, and nothing changes by that."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from chainer2torch.analysis import lattice
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Const,
    Dct,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Perhaps,
    Ref,
    Scalar,
    Stream,
    Tensor,
    Tup,
    Union,
    options,
)
from chainer2torch.analysis.lattice import join, join_all


def _plain_join_union(a: Kind, b: Kind) -> Kind:
    """Each part is compared with each of those before it, whatever is known of them."""
    parts: list[Kind] = []
    for kind in (*options(a), *options(b)):
        for i, other in enumerate(parts):
            merged = join(other, kind) if kind == other else lattice._join_same(kind, other)
            if merged is not None:
                parts[i] = merged
                break
        else:
            parts.append(kind)
    parts = list(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else lattice._union(parts)


_LEAVES: tuple[Kind, ...] = (
    UNKNOWN,
    BOTTOM,
    NONE,
    *(Const(value) for value in (0, 1, True, 1.5, "a")),
    *(Scalar(name) for name in ("int", "float", "str")),
    *(Ref(name) for name in ("numpy", "cupy", "chainer.backends.cuda.cupy", "numpy.zeros", "chainer.functions.relu")),
    *(Tensor(rank, dtype, array) for rank in (None, 2) for dtype in (None, "float32") for array in (False, True)),
    *(HostArray(rank, dtype) for rank in (None, 1) for dtype in ("int32", "float32", "float64")),
    *(Inst(cls, site) for cls in ("chainer.links.Linear", "chainer.Chain", "xp.Module") for site in (0, 1, 2)),
    Method(Tensor(), "backward"),
    Perhaps(Tensor()),
    Perhaps(HostArray(1)),
)


def _kind(chance: random.Random, depth: int = 3) -> Kind:
    """A kind that is made up, a container of such, or the join of some."""
    which = chance.randrange(9) if depth else 0
    if which < 4:
        return chance.choice(_LEAVES)
    if which == 4:
        items = tuple(_kind(chance, depth - 1) for _ in range(chance.randrange(4)))
        return Tup(items, sized=chance.random() < 0.2)
    if which == 5:
        return chance.choice((Lst, Stream))(_kind(chance, depth - 1), sized=False)
    if which == 6:
        keys = chance.sample(("a", "b", "c"), chance.randrange(3))
        return Dct(_kind(chance, depth - 1), tuple((key, _kind(chance, depth - 1)) for key in keys))
    return join_all([_kind(chance, depth - 1) for _ in range(chance.randrange(2, 7))])


def _in_detail(kind: Any) -> Any:
    """All that a kind says; two kinds may be equal where one holds what is unknown and the other what may come."""
    if isinstance(kind, Union):
        return "Union", tuple(map(_in_detail, kind.ordered))
    if isinstance(kind, Kind):
        values = (getattr(kind, field.name) for field in dataclasses.fields(kind))
        return type(kind).__name__, tuple(map(_in_detail, values))
    return tuple(map(_in_detail, kind)) if isinstance(kind, tuple) else (type(kind).__name__, repr(kind))


def _summaries(seed: int) -> list[Any]:
    """What a summary is, in detail, after each of the values that reach it; some reach it again and again."""
    chance = random.Random(seed)
    reached = [_kind(chance) for _ in range(12)]
    kind: Kind | None = None
    found = []
    for _ in range(30):
        kind = join(kind, chance.choice(reached))
        found.append(_in_detail(kind))
    return found


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_a_union_is_what_comparing_all_its_parts_gives(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(start, start + 100)
    quick = [_summaries(seed) for seed in seeds]
    monkeypatch.setattr(lattice, "_join_union", _plain_join_union)
    assert quick == [_summaries(seed) for seed in seeds]


def test_what_says_nothing_new_is_the_same_kind() -> None:
    union = join(join(Inst("chainer.links.Linear", 1), Lst(Scalar("int"))), Tup((Const(1), Tensor(2))))
    assert isinstance(union, Union)
    for kind in (Inst("chainer.links.Linear", 1), Lst(Scalar("int")), Tup((Const(1), Tensor(2)))):
        assert join(union, kind) == union
    widened = join(union, Tup((Const(2), Tensor(3))))
    assert widened != union and join(widened, Tup((Const(3), Tensor(4)))) is widened


def test_parts_that_merge_late_are_compared_again() -> None:
    """CuPy beside NumPy is an array module; beside what is one already it is not, until both have come."""
    made = join(join(Ref("numpy.zeros"), Ref("numpy")), Ref("cupy"))
    assert Inst("xp.Module") in options(made)
    assert join(made, Ref("numpy")) != made and Ref("numpy") in options(join(made, Ref("numpy")))
