"""The comparer must fail on every kind of difference, otherwise no other test here means anything."""

import chainer.functions as F
import numpy as np
import pytest
import torch

from tests.support import differential as diff


def test_equal_functions_pass():
    diff.check(F.sigmoid, torch.sigmoid, ["f32[3,4]"], double_backward=True)
    diff.check(lambda xs: F.concat(xs, 0), lambda xs: torch.cat(xs, 0), [["f32[3,2]", "f32[2,2]"]])
    diff.check(lambda x: F.sum(x), lambda x: torch.sum(x), [np.zeros((0, 3), "f")])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: torch.tanh(x) + 1e-3,  # value
        lambda x: torch.tanh(x).double() * 1.0,  # dtype
        lambda x: torch.tanh(x)[None],  # shape
        lambda x: (torch.tanh(x),),  # structure
        lambda x: torch.tanh(x.detach()) + 0 * x,  # gradient is zero
        lambda x: torch.tanh(x) + (x - x.detach()) * 1e-2,  # gradient is off
        lambda x: torch.tanh(x).detach(),  # no gradient
    ],
)
def test_differences_are_found(wrong):
    with pytest.raises(AssertionError):
        diff.check(F.tanh, wrong, ["f32[3,4]"])


def test_a_wrong_second_derivative_is_found():
    class Tanh(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.slope = 1 - torch.tanh(x) ** 2
            return torch.tanh(x)

        @staticmethod
        def backward(ctx, gy):
            return gy * ctx.slope  # a constant to a second backward

    diff.check(F.tanh, Tanh.apply, ["f32[3,4]"])
    with pytest.raises(AssertionError):
        diff.check(F.tanh, Tanh.apply, ["f32[3,4]"], double_backward=True)


def test_layout_dependence_is_found():
    with pytest.raises(AssertionError):
        diff.check(F.tanh, lambda x: torch.tanh(x) if x.is_contiguous() else torch.tanh(x) * 2, ["f32[3,4]"])


def test_raises_wants_both_sides():
    diff.check_raises(F.mean_squared_error, lambda a, b: (_ for _ in ()).throw(ValueError()), ["f32[3]", "f32[1]"])
    with pytest.raises(AssertionError, match="torch did not raise"):
        diff.check_raises(F.mean_squared_error, torch.nn.functional.l1_loss, ["f32[3]", "f32[1]"])
    with pytest.raises(AssertionError, match="Chainer did not raise"):
        diff.check_raises(F.tanh, lambda x: x.view(7), ["f32[3]"])


@pytest.mark.parametrize(
    "spec, low, high, dtype",
    [
        ("f32[50]>0", 0.0, np.inf, "f4"),
        ("f64[50] in (-1,1)", -1, 1, "f8"),
        ("i32[50]<4", 0, 3, "i4"),
        ("i64[50] in [-1,10)", -1, 9, "i8"),
    ],
)
def test_draw(spec, low, high, dtype):
    a = diff.draw(spec, np.random.RandomState(0))
    assert a.shape == (50,) and a.dtype == dtype and low <= a.min() and a.max() <= high


def test_draw_other_values():
    rng = np.random.RandomState(0)
    assert diff.draw("=[1, 2]", rng) == [1, 2]
    assert diff.draw("f32[]", rng).shape == ()
    assert diff.draw("bool[3]", rng).dtype == bool
    assert [a.shape for a in diff.draw(["f32[3,2]", "f32[2,2]"], rng)] == [(3, 2), (2, 2)]
    with pytest.raises(ValueError):
        diff.draw("f32(3)", rng)
