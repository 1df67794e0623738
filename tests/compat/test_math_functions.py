"""Mathematical functions against Chainer: ties, axes, broadcasting, edges, second derivatives and errors."""

import warnings

import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import math_functions as m
from chainer2torch.compat.functions import math_reduce as r
from tests.support import differential as diff

RNG = np.random.RandomState(0)
UNARY = {
    "absolute": torch.abs,
    "arctan": torch.atan,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "erfcx": torch.special.erfcx,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "square": torch.square,
    "tan": torch.tan,
    "ndtr": torch.special.ndtr,
    "log_ndtr": torch.special.log_ndtr,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "fix": torch.trunc,
    "sign": torch.sign,
}
POSITIVE = {
    "log": torch.log,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
}
BETWEEN = {"arccos": torch.acos, "arcsin": torch.asin, "arctanh": torch.atanh, "erfinv": torch.erfinv}
SHAPES = [(3, 4), (2, 3, 4), (), (1,), (0, 3)]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", SHAPES)
def test_unary(name, shape):
    x = np.asarray(RNG.randn(*shape))
    diff.check(getattr(F, name), UNARY[name], [x], double_backward=name not in ("ceil", "floor", "fix", "sign"))


def test_unary_of_whole_numbers():
    x = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
    for name in ("absolute", "ceil", "floor", "fix", "sign"):
        diff.check(getattr(F, name), UNARY[name], [x])


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("shape", SHAPES)
def test_unary_of_positive_numbers(name, shape):
    diff.check(getattr(F, name), POSITIVE[name], [np.asarray(RNG.uniform(0.2, 8, shape))], double_backward=True)


@pytest.mark.parametrize("name", BETWEEN)
@pytest.mark.parametrize("shape", SHAPES)
def test_unary_of_small_numbers(name, shape):
    diff.check(getattr(F, name), BETWEEN[name], [np.asarray(RNG.uniform(-0.95, 0.95, shape))], double_backward=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_inverse_normal_distribution(shape):
    diff.check(F.ndtri, torch.special.ndtri, [np.asarray(RNG.uniform(0.01, 0.99, shape))], double_backward=True)
    diff.check(F.erfcinv, m.erfcinv, [np.asarray(RNG.uniform(0.02, 1.98, shape))], double_backward=True)


def test_erfcinv_is_precise_for_small_arguments():
    x = 10.0 ** -np.arange(1, 300, 7)
    diff.check(F.erfcinv, m.erfcinv, [x], dtypes=[np.float64], grad=False, rtol=1e-12)
    diff.check(F.erfcinv, m.erfcinv, [x[:5]], dtypes=[np.float32], grad=False)
    assert np.isinf(torch.erfinv(1 - torch.tensor(x)).numpy()).any()  # what a direct translation gives


@pytest.mark.parametrize("chainers, ours", [(F.maximum, m.maximum), (F.minimum, m.minimum)])
@pytest.mark.parametrize("a, b", [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2,)), ((0, 2), (0, 2))])
def test_extremes_of_two(chainers, ours, a, b):
    x, y = np.asarray(RNG.randint(-2, 3, a)).astype("f"), np.asarray(RNG.randint(-2, 3, b)).astype("f")  # with ties
    diff.check(chainers, ours, [x, y], double_backward=a == b)


def test_extremes_of_two_and_nan():
    x, y = np.array([np.nan, 1.0, np.nan, 2.0]), np.array([1.0, np.nan, np.nan, 1.0])
    for chainers, ours in ((F.maximum, m.maximum), (F.minimum, m.minimum)):
        diff.check(chainers, ours, [x, y], grad=False)
        diff.check_raises(chainers, ours, ["f32[3]", "f64[3]"])
        diff.check_raises(chainers, ours, ["f32[3]", "f32[2]"])


@pytest.mark.parametrize("bounds", [(-1, 1), (0.5, 2), (None, 0), (0, None), (-1.0, np.inf)])
def test_clip(bounds):
    x = RNG.randint(-2, 3, (3, 4)).astype("f")  # at the bounds the gradient is 1
    diff.check(lambda x: F.clip(x, *bounds), lambda x: m.clip(x, *bounds), [x], double_backward=True)
    diff.check(lambda x: F.clip(x, *bounds), lambda x: torch.clamp(x, min=bounds[0], max=bounds[1]), [x])


@pytest.mark.parametrize("bounds", [(1, 0), (1, 1), (None, None)])
def test_clip_refuses(bounds):
    diff.check_raises(lambda x: F.clip(x, *bounds), lambda x: m.clip(x, *bounds), ["f32[3]"])


@pytest.mark.parametrize("chainers, ours", [(F.bias, m.bias), (F.scale, m.scale)])
@pytest.mark.parametrize(
    "x, y, axis",
    [
        ((2, 3, 4), (3,), 1),
        ((2, 3, 4), (3, 4), 1),
        ((2, 3, 4), (2, 3), 0),
        ((2, 3, 4), (), 1),
        ((2, 3, 4), (4,), 2),
        ((2, 3), (1,), 1),
        ((0, 3), (3,), 1),
    ],
)
def test_aligned(chainers, ours, x, y, axis):
    diff.check(
        lambda x, y: chainers(x, y, axis),
        lambda x, y: ours(x, y, axis),
        [RNG.randn(*x), np.asarray(RNG.randn(*y))],
        double_backward=True,
    )


@pytest.mark.parametrize("chainers, ours", [(F.bias, m.bias), (F.scale, m.scale)])
def test_aligned_refuses(chainers, ours):
    diff.check_raises(chainers, ours, ["f32[2,3]", "f32[2]"])
    diff.check_raises(chainers, ours, ["f32[2,3]", "f64[3]"])
    diff.check_raises(chainers, ours, ["f32[3]", "f32[3,2]"])
    diff.check_raises(lambda x, y: chainers(x, y, -1), lambda x, y: ours(x, y, -1), ["f32[2,3]", "f32[3]"])


def test_linear_interpolate():
    x = [RNG.rand(3, 4), RNG.randn(3, 4), RNG.randn(3, 4)]
    diff.check(F.linear_interpolate, m.linear_interpolate, x, double_backward=True)
    diff.check_raises(F.linear_interpolate, m.linear_interpolate, ["f32[3,1]", "f32[3,4]", "f32[3,4]"])
    diff.check_raises(F.linear_interpolate, m.linear_interpolate, ["f32[3]", "f32[3]", "f64[3]"])


def test_add():
    diff.check(F.add, m.add, ["f32[3,4]", "f32[4]"], double_backward=True)
    diff.check(F.add, m.add, ["f32[3,1]", "f32[4]", "f32[2,1,1]"])
    diff.check(F.add, m.add, ["f32[3]"])
    diff.check(lambda x: F.add(x, 3), lambda x: m.add(x, 3), ["f32[3]"])
    other = RNG.randn(3)
    diff.check(lambda x: F.add(x, other.astype("f")), lambda x: m.add(x, torch.tensor(other.astype("f"))), ["f32[3]"])
    diff.check_raises(F.add, m.add, ["f32[3]", "f32[2]"])
    diff.check_raises(F.add, m.add, ["f32[3]", "f32[3]", "f64[3]"])


def test_identity():
    diff.check(F.identity, m.identity, ["f32[3,4]"])
    diff.check(F.identity, m.identity, ["f32[3,4]", "f32[2]"])
    x = torch.ones(2)
    assert m.identity(x) is x


MATMUL = [
    ((3, 4), (4, 2)),
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 2)),
    ((5, 3, 4), (4, 2)),
    ((3, 4), (5, 4, 2)),
    ((5, 3, 4), (5, 4, 2)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((5, 3, 4), (4,)),
    ((4,), (5, 4, 2)),
    ((1, 1), (1, 1)),
    ((3, 0), (0, 2)),
]


@pytest.mark.parametrize("a, b", MATMUL)
@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("transb", [False, True])
def test_matmul(a, b, transa, transb):
    a = a[:-2] + a[:-3:-1] if transa and len(a) > 1 else a
    b = b[:-2] + b[:-3:-1] if transb and len(b) > 1 else b
    vectors = len(a) == 1 or len(b) == 1  # Chainer's own gradient fails for some of these
    both = (lambda x, y: F.matmul(x, y, transa, transb)), (lambda x, y: m.matmul(x, y, transa, transb))
    diff.check(*both, [RNG.randn(*a), RNG.randn(*b)], grad=not vectors, double_backward=0 not in a and not vectors)


@pytest.mark.parametrize("a, b", [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2))])
def test_gradient_of_matmul_with_vectors(a, b):
    diff.check(F.matmul, m.matmul, [RNG.randn(*a), RNG.randn(*b)])


@pytest.mark.parametrize(
    "a, b, transa, transb",
    [
        ((5, 3, 4), (5, 4, 2), False, False),
        ((5, 4, 3), (5, 4, 2), True, False),
        ((5, 3, 4), (5, 2, 4), False, True),
        ((5, 4), (5, 4), True, False),
        ((5, 3), (5, 2), False, True),
        ((5, 3, 4), (5, 4), False, False),
        ((5, 4), (5, 4, 2), True, False),
        ((5, 4), (5, 1), False, False),
        ((1, 1), (1, 1), False, False),
    ],
)
def test_batch_matmul(a, b, transa, transb):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        diff.check(
            lambda x, y: F.batch_matmul(x, y, transa, transb),
            lambda x, y: m.batch_matmul(x, y, transa, transb),
            [RNG.randn(*a), RNG.randn(*b)],
            dtypes=[np.float32],
            double_backward=True,
            rtol=1e-3,
        )
        diff.check_raises(F.batch_matmul, m.batch_matmul, ["f32[3,4,5]", "f32[3,4,5]"])
        diff.check_raises(F.batch_matmul, m.batch_matmul, ["f32[3]", "f32[3]"])


@pytest.mark.parametrize(
    "a, b, axes",
    [
        ((2, 3, 4), (3, 4, 5), 2),
        ((2, 3), (3, 4), 1),
        ((2,), (3,), 0),
        ((2, 3, 4), (4, 5, 2), ((0, 2), (2, 0))),
        ((2, 3), (2, 4), (0, 0)),
        ((2, 3), (4, 2), ([0], [1])),
        ((2, 3), (2, 3), ((0, 1), (0, 1))),
        ((2, 3), (4, 2), (0, (1,))),
    ],
)
def test_tensordot(a, b, axes):
    diff.check(
        lambda x, y: F.tensordot(x, y, axes),
        lambda x, y: m.tensordot(x, y, axes),
        [RNG.randn(*a), RNG.randn(*b)],
        double_backward=True,
    )


@pytest.mark.parametrize(
    "a, b, axes",
    [((2, 3), (1, 3), (0, 0)), ((2, 3), (4, 5), 1), ((2, 3), (3, 2), ((0,), (1, 0))), ((2, 3), (3, 2), (0, 1, 2))],
)
def test_tensordot_refuses(a, b, axes):
    diff.check_raises(
        lambda x, y: F.tensordot(x, y, axes), lambda x, y: m.tensordot(x, y, axes), [RNG.randn(*a), RNG.randn(*b)]
    )


@pytest.mark.parametrize("name", ["fft", "ifft"])
@pytest.mark.parametrize("shape", [(3, 5), (4,), (1,), (2, 3, 4)])
def test_fourier(name, shape):
    diff.check(
        lambda x, y: getattr(F, name)((x, y)),
        lambda x, y: getattr(m, name)((x, y)),
        [RNG.randn(*shape), RNG.randn(*shape)],
        double_backward=True,
    )
    diff.check(
        lambda x, y: getattr(F, name)((x, y))[1],
        lambda x, y: getattr(m, name)((x, y))[1],
        [RNG.randn(*shape), RNG.randn(*shape)],
    )
    diff.check_raises(
        lambda x, y: getattr(F, name)((x, y)), lambda x, y: getattr(m, name)((x, y)), ["f32[3]", "f32[1]"]
    )


def test_polygamma():
    n = RNG.randint(0, 5, (3, 4)).astype("i")
    diff.check(F.polygamma, m.polygamma, [n, RNG.uniform(0.3, 6, (3, 4))], double_backward=True)
    diff.check(F.polygamma, m.polygamma, [n * 0, RNG.uniform(-2.9, -2.1, (3, 4))], dtypes=[np.float64])
    diff.check(F.polygamma, m.polygamma, [np.array(2, "i"), RNG.uniform(0.3, 6, 4)])
    diff.check_raises(F.polygamma, m.polygamma, ["f32[3]", "f32[3]"])


def test_zeta():
    diff.check(
        lambda q: F.zeta(3, q), lambda q: torch.special.zeta(3, q), [RNG.uniform(0.5, 6, (3, 4))], double_backward=True
    )


@pytest.mark.parametrize("shape", [(3, 3), (3, 3, 1, 1), (1, 1)])
def test_det(shape):
    diff.check(F.det, m.det, [RNG.randn(*shape)], double_backward=True)


def test_det_takes_one_matrix():
    diff.check_raises(F.det, m.det, ["f32[2,3,3]"])


def test_batch_l2_norm_squared():
    for shape in ((3, 4), (2, 3, 4), (1, 1)):
        diff.check(F.batch_l2_norm_squared, m.batch_l2_norm_squared, [RNG.randn(*shape)], double_backward=True)
    diff.check_raises(F.batch_l2_norm_squared, m.batch_l2_norm_squared, ["f32[3]"])


AXES = [None, 0, 1, -1, (0,), (0, 1), (0, -1), (2, 0), (0, 1, 2), ()]


@pytest.mark.parametrize(
    "chainers, ours", [(F.sum, r.sum_along), (F.mean, r.average), (F.prod, r.prod), (F.max, r.amax), (F.min, r.amin)]
)
class TestReductions:
    @pytest.mark.parametrize("axis", AXES)
    @pytest.mark.parametrize("keepdims", [False, True])
    def test_values(self, chainers, ours, axis, keepdims):
        for x in (RNG.randn(2, 3, 4), RNG.randint(0, 3, (2, 3, 4)).astype("f")):  # ties, and zeros in a product
            diff.check(
                lambda x: chainers(x, axis=axis, keepdims=keepdims),
                lambda x: ours(x, axis=axis, keepdims=keepdims),
                [x],
                double_backward=axis != (),
            )

    def test_small(self, chainers, ours):
        diff.check(chainers, ours, [np.array(2.5)])
        diff.check(chainers, ours, [np.ones((1, 1))])
        diff.check(lambda x: chainers(x, axis=0), lambda x: ours(x, axis=0), [np.ones((3, 0))])

    @pytest.mark.parametrize("axis", [3, -4, (0, 0), (0, 3), [0, 1], 1.0])
    def test_refuses(self, chainers, ours, axis):
        diff.check_raises(lambda x: chainers(x, axis=axis), lambda x: ours(x, axis=axis), ["f32[2,3,4]"])


@pytest.mark.parametrize("chainers, ours", [(F.max, r.amax), (F.min, r.amin)])
def test_extremes_of_nothing(chainers, ours):
    diff.check_raises(chainers, ours, [np.zeros((0, 3), "f")])


def test_extremes_of_nan():
    x = np.array([[1, np.nan, 3], [1, 2, 3.0]])
    for chainers, ours in ((F.max, r.amax), (F.min, r.amin)):
        diff.check(lambda x: chainers(x, axis=1), lambda x: ours(x, axis=1), [x], grad=False)  # noqa: B023


@pytest.mark.parametrize("axis", AXES)
def test_logsumexp(axis):
    x = RNG.randn(2, 3, 4) * 30
    diff.check(lambda x: F.logsumexp(x, axis), lambda x: r.logsumexp(x, axis), [x], double_backward=axis != ())


@pytest.mark.parametrize(
    "x, weights, axis",
    [
        ((2, 3), (2, 3), None),
        ((2, 3), (2,), 0),
        ((2, 3), (3,), -1),
        ((2, 3), (3,), (1,)),
        ((), (), None),
        ((4,), (4,), 0),
    ],
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_weighted_average(x, weights, axis, keepdims):
    diff.check(
        lambda x, w: F.average(x, axis, w, keepdims),
        lambda x, w: r.average(x, axis, w, keepdims),
        [np.asarray(RNG.randn(*x)), np.asarray(RNG.rand(*weights) + 0.1)],
        double_backward=True,
    )


def test_weighted_average_refuses():
    diff.check_raises(
        lambda x, w: F.average(x, (0, 1), w), lambda x, w: r.average(x, (0, 1), w), ["f32[2,3]", "f32[2,3]"]
    )
    diff.check_raises(lambda x, w: F.average(x, 0, w), lambda x, w: r.average(x, 0, w), ["f32[2,3]", "f32[3]"])


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_cumulative(name, shape, axis):
    x = RNG.randint(-1, 3, shape).astype("f")  # zeros in a product
    diff.check(
        lambda x: getattr(F, name)(x, axis), lambda x: getattr(r, name)(x, axis), [x], double_backward=name == "cumsum"
    )
    diff.check(lambda x: getattr(F, name)(x, axis), lambda x: getattr(r, name)(x, axis), [RNG.randn(*shape)])


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (5, 5)])
def test_linear_algebra(shape):
    a = RNG.randn(*shape) + 2 * np.eye(*shape)
    diff.check(F.inv, torch.linalg.inv, [a], double_backward=True)
    diff.check(F.det, torch.linalg.det, [a], double_backward=True)
    stack = np.stack([a, a.T, -2 * a])
    diff.check(F.batch_inv, torch.linalg.inv, [stack], double_backward=True)
    diff.check(F.batch_det, torch.linalg.det, [stack], double_backward=True)
    spd = a @ a.T + np.eye(*shape)
    diff.check(F.cholesky, torch.linalg.cholesky, [spd], double_backward=True)
    diff.check(F.cholesky, torch.linalg.cholesky, [np.tril(spd)])


def test_singular_matrices_raise():
    diff.check_raises(F.inv, torch.linalg.inv, [np.ones((2, 2), "f")])
    diff.check_raises(F.batch_inv, torch.linalg.inv, [np.ones((3, 2, 2), "f")])
    diff.check_raises(F.cholesky, torch.linalg.cholesky, [-np.eye(2, dtype="f")])


@pytest.mark.parametrize(
    "operands",
    [
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("ij,jk", (2, 3), (3, 4)),
        ("ii", (3, 3)),
        ("ii->i", (3, 3)),
        ("ijk->kji", (2, 3, 4)),
        ("Ab,bA", (2, 3), (3, 2)),
        ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
        ("i,j,k->kij", (2,), (3,), (4,)),
        ("ij->", (2, 3)),
        ("ij,ij->ij", (2, 3), (2, 3)),
        ("ba", (2, 3)),
        ("i...,i->...", (2, 3), (2,)),
    ],
)
def test_einsum(operands):
    subscripts, *shapes = operands
    diff.check(
        lambda *xs: F.einsum(subscripts, *xs),
        lambda *xs: torch.einsum(subscripts, *xs),
        [RNG.randn(*s) for s in shapes],
        double_backward=True,
    )


@pytest.mark.parametrize(
    "shape, to", [((2, 3, 4), (3, 1)), ((2, 3), ()), ((2, 3), (2, 3)), ((2, 3), (1, 1)), ((3,), (1,)), ((1, 3), (3,))]
)
def test_sum_to(shape, to):
    diff.check(lambda x: F.sum_to(x, to), lambda x: x.sum_to_size(to), [RNG.randn(*shape)], double_backward=True)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_index_of_extreme(name, axis):
    for shape in ((3, 4), (2, 5, 2)):
        x = RNG.randint(0, 3, shape).astype("f")  # of several the first
        diff.check(
            lambda x: getattr(F, name)(x, axis=axis),
            lambda x: getattr(torch, name)(x, dim=axis),
            [x],
            check_dtype=False,
        )
