"""Losses on distances, covariances and distributions against Chainer."""

import chainer.functions as F
import numpy as np
import pytest

from chainer2torch.compat.functions import metric_loss
from tests.support import differential as diff

RNG = np.random.RandomState(0)


def _both(name, *args, **options):
    return (
        (lambda *a: getattr(F, name)(*a, *args, **options)),
        (lambda *a: getattr(metric_loss, name)(*a, *args, **options)),
    )


@pytest.mark.parametrize("reduce", ["mean", "no"])
@pytest.mark.parametrize("margin", [1, 0.4, 3.0])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_contrastive(reduce, margin, dtype):
    x = RNG.randn(8, 3)
    both = _both("contrastive", margin=margin, reduce=reduce)
    diff.check(*both, [x, x + RNG.randn(8, 3), RNG.randint(0, 2, 8).astype(dtype)], double_backward=True)


@pytest.mark.parametrize("gap", [0.0, 1e-9, 3e-8, 1e-6])
def test_contrastive_of_pairs_that_are_equal_or_nearly(gap):
    x = np.ones((4, 2))
    diff.check(
        *_both("contrastive", reduce="no"),
        [x * 0, x * gap, np.array([0, 1, 0, 1], "i")],
        dtypes=[np.float64],
        atol=2e-7 * gap + 1e-10,
    )


def test_contrastive_refuses():
    x, y = np.zeros((3, 2), "f"), np.zeros(3, "i")
    diff.check_raises(*_both("contrastive", margin=0), [x, x, y])
    diff.check_raises(*_both("contrastive", reduce="sum"), [x, x, y])
    diff.check_raises(*_both("contrastive"), [x, x[:, :1], y])
    diff.check_raises(*_both("contrastive"), [x, x, y[:1]])
    diff.check_raises(*_both("contrastive"), [x, x.astype("d"), y])
    diff.check_raises(*_both("contrastive"), [x[:0], x[:0], y[:0]])
    diff.check_raises(*_both("contrastive"), [x[0], x[0], y[:2]])


@pytest.mark.parametrize("reduce", ["mean", "no"])
@pytest.mark.parametrize("margin", [0.2, 3.0])
@pytest.mark.parametrize("shape", [(6, 3), (1, 1)])
def test_triplet(reduce, margin, shape):
    diff.check(
        *_both("triplet", margin=margin, reduce=reduce), [RNG.randn(*shape) for _ in range(3)], double_backward=True
    )


def test_triplet_refuses():
    x = np.zeros((3, 2), "f")
    diff.check_raises(*_both("triplet", margin=0), [x, x, x])
    diff.check_raises(*_both("triplet", reduce="sum"), [x, x, x])
    diff.check_raises(*_both("triplet"), [x, x, x[:1]])
    diff.check_raises(*_both("triplet"), [x, x, x.astype("d")])
    diff.check_raises(*_both("triplet"), [x[:0], x[:0], x[:0]])


@pytest.mark.parametrize("reduce", ["half_squared_sum", "no"])
def test_covariances(reduce):
    diff.check(*_both("cross_covariance", reduce=reduce), [RNG.randn(7, 3), RNG.randn(7, 2)], double_backward=True)
    diff.check(*_both("cross_covariance", reduce=reduce), [RNG.randn(1, 3), RNG.randn(1, 1)])
    diff.check(*_both("decov", reduce=reduce), [RNG.randn(7, 4)])
    diff.check(*_both("decov", reduce=reduce), [RNG.randn(2, 1)])


def test_covariances_refuse():
    x = np.zeros((3, 2), "f")
    diff.check_raises(*_both("cross_covariance", reduce="mean"), [x, x])
    diff.check_raises(*_both("cross_covariance"), [x, x[:1]])
    diff.check_raises(*_both("cross_covariance"), [x, x.astype("d")])
    diff.check_raises(*_both("decov", reduce="mean"), [x])
    diff.check_raises(*_both("decov"), [x[0]])


@pytest.mark.parametrize("name, n", [("gaussian_kl_divergence", 2), ("bernoulli_nll", 2), ("gaussian_nll", 3)])
class TestVariational:
    @pytest.mark.parametrize("reduce", ["sum", "mean", "no"])
    @pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1,), ()])
    def test_values(self, name, n, reduce, shape):
        diff.check(*_both(name, reduce=reduce), [np.asarray(RNG.randn(*shape)) for _ in range(n)], double_backward=True)

    def test_broadcasts_as_chainer_does(self, name, n):
        diff.check(*_both(name), [RNG.randn(3, 4)] + [RNG.randn(3, 1)] * (n - 1))

    def test_refuses(self, name, n):
        diff.check_raises(*_both(name, reduce="half"), [np.zeros(3, "f")] * n)


def test_bernoulli_nll_of_large_logits():
    diff.check(*_both("bernoulli_nll", reduce="no"), [RNG.rand(50), np.linspace(-100, 100, 50)])


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("batch, instances", [(3, 3), (1, 2), (1, 1)])
def test_discriminative_loss(norm, batch, instances):
    labels = RNG.randint(0, instances + 1, (batch, 3, 4)).astype("i")
    labels[:, 0, :instances] = np.arange(1, instances + 1)
    both = (
        lambda x, t: F.discriminative_margin_based_clustering_loss(x, t, 0.1, 1.5, instances, norm, 2.0, 0.5, 0.01),
        lambda x, t: metric_loss.discriminative_margin_based_clustering_loss(
            x, t, 0.1, 1.5, instances, norm, 2.0, 0.5, 0.01
        ),
    )
    x = RNG.randn(batch, instances, 3, 4)
    # With one instance there is no pair of centres: Chainer's distance term is then a number, as ours.
    diff.check(*both, [x, labels], grad=norm == 1 and instances > 1)


@pytest.mark.parametrize("dim, norm", [(0, 1), (3, 3)])
def test_discriminative_loss_refuses(dim, norm):
    diff.check_raises(
        *_both("discriminative_margin_based_clustering_loss", 0.1, 1.5, dim, norm),
        [np.zeros((3, 3, 2, 2), "f"), np.zeros((3, 2, 2), "i")],
    )
