"""Noise: exactly when the mask or the sample is given, by moments when it is drawn, and nothing in test mode."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.variable import modes
from chainer2torch.compat.functions import noise
from tests.support import differential as diff

RNG = np.random.RandomState(0)
LARGE = 100000


def _mean_is(sample, mean, variance):
    """The sample's mean lies within five standard errors of `mean`, and its variance within 3% of `variance`."""
    sample = torch.as_tensor(sample, dtype=torch.float64)
    assert abs(sample.mean().item() - mean) < 5 * (variance / sample.numel()) ** 0.5
    assert sample.var().item() == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("return_mask", [True, False])
def test_dropout_with_a_mask(train, return_mask):
    mask = RNG.rand(3, 4).astype("f")
    with chainer.using_config("train", train), modes.using_train(train):
        diff.check(
            lambda x: F.dropout(x, 0.3, mask=mask, return_mask=return_mask),
            lambda x: noise.dropout(x, 0.3, mask=torch.tensor(mask), return_mask=return_mask),
            ["f32[3,4]"],
            dtypes=[np.float32],
            double_backward=train,
        )


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("options", [{}, {"return_mask": True}])
def test_dropout_draws(ratio, options):
    torch.manual_seed(0)
    np.random.seed(0)
    x = torch.full((LARGE,), 2.0, requires_grad=True)
    y = noise.dropout(x, ratio, **options)
    y, mask = y if options else (y, None)
    values = set(np.unique(y.detach().numpy()).tolist())
    chainers = set(np.unique(F.dropout(x.detach().numpy(), ratio).array).tolist())
    assert {round(v, 5) for v in values} == {round(v, 5) for v in chainers}
    _mean_is((y == 0).double(), ratio, ratio * (1 - ratio)) if ratio else None
    (gx,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gx * 2, y)
    assert mask is None or torch.equal(x * mask, y)


def test_dropout_follows_the_mode_or_is_told():
    x = torch.ones(1000)
    assert (noise.dropout(x) == 0).any()
    assert torch.equal(noise.dropout(x, training=False), x)
    with modes.eval_mode():
        assert noise.dropout(x) is x
        assert noise.dropout(x, return_mask=True) == (x, None)
        assert (noise.dropout(x, training=True) == 0).any()


@pytest.mark.parametrize("ratio", [1.0, -0.1, 1.5])
def test_dropout_refuses(ratio):
    diff.check_raises(lambda x: F.dropout(x, ratio), lambda x: noise.dropout(x, ratio), ["f32[3]"])
    with chainer.using_config("train", False):
        diff.check(lambda x: F.dropout(x, ratio), lambda x: noise.dropout(x, ratio, training=False), ["f32[3]"])


@pytest.mark.parametrize("shape", [(3, 4), (), (0, 2)])
@pytest.mark.parametrize("return_eps", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_with_noise(shape, return_eps, dtype):
    eps = np.asarray(RNG.randn(*shape)).astype(dtype)
    diff.check(
        lambda m, v: F.gaussian(m, v, eps=eps, return_eps=return_eps),
        lambda m, v: noise.gaussian(m, v, eps=torch.tensor(eps), return_eps=return_eps),
        [np.asarray(RNG.randn(*shape)), np.asarray(RNG.randn(*shape))],
        dtypes=[dtype],
        double_backward=0 not in shape,
    )


def test_gaussian_draws():
    torch.manual_seed(0)
    mean, ln_var = torch.full((LARGE,), 3.0), torch.full((LARGE,), 0.7)
    y, eps = noise.gaussian(mean, ln_var, return_eps=True)
    _mean_is(y, 3.0, np.exp(0.7))
    _mean_is(eps, 0.0, 1.0)
    torch.testing.assert_close(y, mean + torch.exp(ln_var / 2) * eps)
    with modes.eval_mode():  # random in test mode as well
        _mean_is(noise.gaussian(mean, ln_var), 3.0, np.exp(0.7))


def test_gaussian_refuses():
    diff.check_raises(F.gaussian, noise.gaussian, ["f32[3,4]", "f32[4]"])
    diff.check_raises(F.gaussian, noise.gaussian, ["f32[3]", "f64[3]"])


@pytest.mark.parametrize("tau, axis", [(0.1, 1), (1.0, 1), (0.5, 0), (2.0, -1)])
def test_gumbel_softmax_draws(tau, axis):
    torch.manual_seed(0)
    np.random.seed(0)
    log_pi = np.log([[0.1, 0.2, 0.7]]).astype("f")
    x = np.repeat(log_pi, LARGE, 0) if axis else np.repeat(log_pi, LARGE, 0).T.copy()
    chainers, ours = diff.run(
        lambda x: F.gumbel_softmax(x, tau, axis), lambda x: noise.gumbel_softmax(x, tau, axis), [x]
    )
    assert chainers.shape == ours.shape and chainers.dtype == ours.dtype
    np.testing.assert_allclose(ours.sum(axis=axis), 1, rtol=1e-5)
    for i in range(3):
        a, b = np.take(chainers, i, axis), np.take(ours, i, axis)
        assert abs(a.mean() - b.mean()) < 5 * a.std() * np.sqrt(2 / LARGE)
        assert a.std() == pytest.approx(b.std(), rel=0.03)


def test_gumbel_softmax_of_a_number():
    diff.check(F.gumbel_softmax, noise.gumbel_softmax, [np.array(0.3)], grad=False)


@pytest.mark.parametrize("train", [True, False])
def test_zoneout(train):
    torch.manual_seed(0)
    h, x = torch.zeros(LARGE, requires_grad=True), torch.ones(LARGE, requires_grad=True)
    with modes.using_train(train):
        y = noise.zoneout(h, x, 0.3)
    gh, gx = torch.autograd.grad(y.sum(), [h, x], allow_unused=True)
    if train:
        _mean_is(y.detach(), 0.7, 0.21)
        assert torch.equal(gx, y) and torch.equal(gh, 1 - y)
    else:
        assert y is x and gh is None
    assert noise.zoneout(h, x, 0.3, training=False) is x


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_zoneout_at_the_ends(ratio):
    diff.check(
        lambda h, x: F.zoneout(h, x, ratio),
        lambda h, x: noise.zoneout(h, x, ratio),
        ["f32[3,4]", "f32[3,4]"],
        double_backward=True,
    )


@pytest.mark.parametrize("batchwise", [True, False])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("x", [(3, 4), (3, 2, 2), (1, 4)])
def test_simplified_dropconnect_with_a_mask(batchwise, with_bias, train, x):
    mask = RNG.rand(*((x[0], 2, 4) if batchwise else (2, 4))) < 0.5
    options = {"ratio": 0.3, "train": train, "use_batchwise_mask": batchwise}
    inputs = [RNG.randn(*x), RNG.randn(2, 4)] + ([RNG.randn(2)] if with_bias else [])
    # Chainer's second derivative fails for a mask that is shared by the batch.
    diff.check(
        lambda *a: F.simplified_dropconnect(*a, mask=mask, **options),
        lambda *a: noise.simplified_dropconnect(*a, mask=torch.tensor(mask), **options),
        inputs,
    )


def test_simplified_dropconnect_draws():
    torch.manual_seed(0)
    w = torch.ones(10, 100)
    y = noise.simplified_dropconnect(torch.ones(1000, 100), w, None, 0.2)
    _mean_is(y, 100.0, 100 * 0.2 / 0.8)
    shared = noise.simplified_dropconnect(torch.ones(1000, 100), w, None, 0.2, use_batchwise_mask=False)
    assert (shared == shared[0]).all() and len(shared[0].unique()) > 1
    with modes.eval_mode():
        assert (noise.simplified_dropconnect(torch.ones(9, 100), w) != 100).any()
    kept = noise.simplified_dropconnect(torch.ones(9, 100), w, train=False)
    torch.testing.assert_close(kept, torch.full((9, 10), 100.0))


def test_simplified_dropconnect_refuses():
    mask = np.ones((2, 4), bool)
    diff.check_raises(
        lambda x, w: F.simplified_dropconnect(x, w, mask=mask),
        lambda x, w: noise.simplified_dropconnect(x, w, mask=torch.tensor(mask)),
        ["f32[3,4]", "f32[2,4]"],
    )
    diff.check_raises(F.simplified_dropconnect, noise.simplified_dropconnect, ["f32[3,5]", "f32[2,4]"])
