"""Activations against Chainer: kinks, options, odd shapes, second derivatives and errors."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import activation
from chainer2torch.compat.variable import modes
from tests.support import differential as diff

T = torch.nn.functional
PAIRS = {
    "relu": (F.relu, T.relu),
    "relu6": (F.relu6, T.relu6),
    "sigmoid": (F.sigmoid, torch.sigmoid),
    "tanh": (F.tanh, torch.tanh),
    "softplus": (F.softplus, T.softplus),
    "elu": (F.elu, T.elu),
    "elu3": (lambda x: F.elu(x, 3), lambda x: T.elu(x, alpha=3)),
    "selu": (F.selu, T.selu),
    "leaky_relu": (F.leaky_relu, activation.leaky_relu),
    "leaky_relu-0.3": (lambda x: F.leaky_relu(x, -0.3), lambda x: activation.leaky_relu(x, -0.3)),
    "leaky_relu0": (lambda x: F.leaky_relu(x, 0), lambda x: activation.leaky_relu(x, 0)),
    "clipped_relu": (lambda x: F.clipped_relu(x, 1.5), lambda x: activation.clipped_relu(x, 1.5)),
    "clipped_relu_plain": (lambda x: F.clipped_relu(x, 1.5), lambda x: T.hardtanh(x, 0.0, 1.5)),
    "hard_sigmoid": (F.hard_sigmoid, activation.hard_sigmoid),
    "selu_options": (lambda x: F.selu(x, 2, 0.5), lambda x: activation.selu(x, 2, 0.5)),
}
# 0 and both ends of every range that is cut: there the choice of the gradient shows.
KINKS = np.array([[-3.0, -2.5, -1.5, 0.0, -0.0], [1.5, 2.5, 6.0, 7.0, 20.0]])


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("x", [KINKS, "f32[]", "f32[1]", "f32[0,3]", "f32[2,3,4,5]"])
def test_elementwise(name, x):
    ours = PAIRS[name]
    diff.check(*ours, [x])


@pytest.mark.parametrize("name", sorted(set(PAIRS) - {"softplus"}))
def test_second_derivatives(name):
    diff.check(*PAIRS[name], ["f32[3,4]"], double_backward=True)


def test_softplus_difference_is_below_its_note():
    x = np.linspace(19, 40, 50)
    chainers, ours = diff.run(lambda x: F.softplus(x, 2.0), lambda x: T.softplus(x, 2.0), [x / 2])
    assert 0 < np.abs(chainers - ours).max() < 2.1e-9 / 2
    diff.check(F.softplus, T.softplus, ["f32[3,4] in (-9, 9)"], double_backward=True)


@pytest.mark.parametrize("ours, chainers", [(activation.softmax, F.softmax), (activation.log_softmax, F.log_softmax)])
@pytest.mark.parametrize(
    "shape, axis",
    [
        ((3, 4), 1),
        ((3, 4), 0),
        ((3, 4), -1),
        ((2, 3, 4, 5), 1),
        ((2, 3, 4), -2),
        ((0, 3), 1),
        ((1, 1), 1),
        ((3, 1), 1),
        ((5,), 0),
    ],
)
def test_softmax(ours, chainers, shape, axis):
    x = np.random.RandomState(0).randn(*shape) * 20
    diff.check(lambda x: chainers(x, axis=axis), lambda x: ours(x, axis=axis), [x], double_backward=True)
    if axis == 1:
        diff.check(chainers, ours, [x])


def test_softmax_of_one_axis_has_no_default_axis():
    diff.check_raises(F.softmax, activation.softmax, ["f32[4]"])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_crelu(axis):
    x = np.random.RandomState(0).randint(-2, 3, (2, 3, 4)).astype("f")
    diff.check(lambda x: F.crelu(x, axis), lambda x: activation.crelu(x, axis), [x], double_backward=True)


@pytest.mark.parametrize(
    "shape, pool, axis",
    [
        ((3, 8), 2, 1),
        ((3, 8), 8, 1),
        ((3, 8), 1, 1),
        ((6, 2), 3, 0),
        ((2, 3, 4), 2, 2),
        ((2, 4, 6, 5), 3, -2),
        ((2, 4, 6), 2, -3),
    ],
)
def test_maxout(shape, pool, axis):
    x = np.random.RandomState(0).randint(0, 3, shape).astype("f")  # with ties
    diff.check(lambda x: F.maxout(x, pool, axis), lambda x: activation.maxout(x, pool, axis), [x], double_backward=True)


@pytest.mark.parametrize("pool, axis", [(3, 1), (0, 1), (-2, 1), (2, -1)])
def test_maxout_errors(pool, axis):
    diff.check_raises(lambda x: F.maxout(x, pool, axis), lambda x: activation.maxout(x, pool, axis), ["f32[2,8]"])


@pytest.mark.parametrize("chainers, ours", [(F.prelu, activation.prelu), (F.swish, activation.swish)])
@pytest.mark.parametrize(
    "x, w", [((4, 3), (3,)), ((4, 3), ()), ((4, 3, 2), (3, 2)), ((2, 3, 4, 4), (3,)), ((0, 3), (3,)), ((1, 1), (1,))]
)
def test_per_channel(chainers, ours, x, w):
    rng = np.random.RandomState(0)
    diff.check(chainers, ours, [rng.randn(*x), np.asarray(rng.randn(*w))], double_backward=True)
    if chainers is F.prelu:
        diff.check(chainers, ours, [rng.randint(-2, 3, x).astype("f"), np.asarray(rng.randn(*w))])


@pytest.mark.parametrize("chainers, ours", [(F.prelu, activation.prelu), (F.swish, activation.swish)])
@pytest.mark.parametrize("w", ["f32[1]", "f32[4]", "f32[2,3]", "f32[3,1]"])
def test_per_channel_errors(chainers, ours, w):
    diff.check_raises(chainers, ours, ["f32[2,3]", w])
    diff.check_raises(chainers, ours, [np.zeros((2, 3), "f"), np.zeros(3, "d")])


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("return_r", [True, False])
def test_rrelu_with_given_slopes(train, return_r):
    r = np.random.RandomState(0).uniform(0.1, 0.3, (2, 3))
    with chainer.using_config("train", train), modes.using_train(train):
        for dtype in (np.float32, np.float64):

            def chainers(x):
                y = F.rrelu(x, 0.1, 0.4, r=r.astype(x.dtype), return_r=return_r)
                return y if return_r else [y]

            def ours(x):
                y = activation.rrelu(x, 0.1, 0.4, r=torch.tensor(r).to(x.dtype), return_r=return_r)
                return y if return_r else [y]

            x = np.array([[-1, 0, 2], [-0.0, 3, -4]])
            diff.check(chainers, ours, [x.astype(dtype)], dtypes=[dtype], double_backward=True)


def test_rrelu_draws_uniformly_in_train_mode_only():
    torch.manual_seed(0)
    x = -torch.ones(300, 300)
    y, r = activation.rrelu(x, 0.2, 0.6, return_r=True)
    assert torch.equal(y, -r) and 0.2 <= r.min() < 0.201 and 0.599 < r.max() <= 0.6
    assert abs(r.mean() - 0.4) < 5 * 0.4 / 12**0.5 / 300 and abs(r.std() - 0.4 / 12**0.5) < 0.002
    with modes.eval_mode():
        assert torch.equal(activation.rrelu(x, 0.2, 0.6), torch.full_like(x, -0.4))
    assert torch.equal(activation.rrelu(x, 0.2, 0.6, training=False), torch.full_like(x, -0.4))


@pytest.mark.parametrize("bounds", [(0.4, 0.1), (-0.1, 0.3), (0.2, 1.0), (0.3, 0.3)])
def test_rrelu_errors(bounds):
    diff.check_raises(lambda x: F.rrelu(x, *bounds), lambda x: activation.rrelu(x, *bounds), ["f32[2]"])


def test_clipped_relu_wants_a_float():
    diff.check_raises(lambda x: F.clipped_relu(x, 2), lambda x: activation.clipped_relu(x, 2), ["f32[3]"])
