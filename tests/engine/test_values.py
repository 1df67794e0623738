"""Values that nobody changes: what a frozen dataclass gives, without its checks at run time."""

from __future__ import annotations

import dataclasses

from chainer2torch.analysis import kinds
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Const, HostArray, Inst, Lst, Ref, Scalar, Stream, Tensor, Tup
from chainer2torch.analysis.values import dataclass


def test_equal_values_are_equal_and_have_one_hash() -> None:
    pairs = [
        (Ref("a"), Ref("a")),
        (Tensor(2, "float32"), Tensor(2, "float32")),
        (Inst("a", 1), Inst("a", 1)),
        (Lst(Tensor(1)), Lst(Tensor(1))),
        (Tup((Ref("a"), Const(1))), Tup((Ref("a"), Const(1)))),
        (Const(1), Const(1)),
    ]
    for one, other in pairs:
        assert one == other and hash(one) == hash(other) and one is not other
        assert len({one, other}) == 1


def test_values_of_different_classes_are_different() -> None:
    values = [Tensor(), HostArray(), Lst(Tensor()), Stream(Tensor()), Const(1), Const(True), Const(1.0), Scalar("int")]
    values += [UNKNOWN, BOTTOM]
    for i, one in enumerate(values):
        assert [one == other for other in values] == [i == j for j in range(len(values))]


def test_every_kind_is_a_value() -> None:
    found = [c for c in vars(kinds).values() if isinstance(c, type) and issubclass(c, kinds.Kind)]
    assert len(found) > 15
    assert all(dataclasses.is_dataclass(c) and c.__hash__ is not None for c in found)


def test_options_of_a_dataclass_are_passed_on() -> None:
    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        number: int = dataclasses.field(default=1)

    assert Same() != Same() and len({Same(), Same()}) == 2 and Same().number == 1 and not hasattr(Same(), "__dict__")
