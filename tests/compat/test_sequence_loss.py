"""CTC, conditional random fields and sampled word losses against Chainer."""

import itertools

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import sequence_loss
from tests.support import differential as diff

RNG = np.random.RandomState(0)


def _both(name, *args, **options):
    return (
        (lambda *a: getattr(F, name)(*a, *args, **options)),
        (lambda *a: getattr(sequence_loss, name)(*a, *args, **options)),
    )


@pytest.mark.parametrize("reduce", ["mean", "no"])
@pytest.mark.parametrize("blank", [0, 2, 4])
@pytest.mark.parametrize("times, batch, labels", [(6, 3, 2), (9, 2, 4), (3, 1, 1), (4, 2, 2)])
def test_ctc(reduce, blank, times, batch, labels):
    xs = [RNG.randn(batch, 5) * 2 for _ in range(times)]
    t = RNG.choice([c for c in range(5) if c != blank], (batch, labels)).astype("i")
    diff.check(*_both("connectionist_temporal_classification", blank, reduce=reduce), [xs, t])


@pytest.mark.parametrize("reduce", ["mean", "no"])
def test_ctc_with_lengths(reduce):
    xs = [RNG.randn(4, 5) for _ in range(8)]
    t = np.array([[1, 2, 3], [1, 1, -1], [4, 4, 4], [2, -1, -1]], "i")
    lengths = np.array([3, 2, 3, 0], "i")
    inputs = np.array([8, 3, 5, 4], "i")  # the second and third just fit: a repeated label needs a blank between
    blanks_among_labels = np.where(t < 0, 0, t).astype("i")
    diff.check(*_both("connectionist_temporal_classification", 0, reduce=reduce), [xs, blanks_among_labels])
    chainers = lambda xs, t, i, n: F.connectionist_temporal_classification(xs, t, 0, i, n, reduce)  # noqa: E731
    ours = lambda xs, t, i, n: sequence_loss.connectionist_temporal_classification(xs, t, 0, i, n, reduce)  # noqa: E731
    diff.check(chainers, ours, [xs, t, inputs, lengths])
    with_blank = np.array([[1, 0, 3], [1, 1, -1], [4, 0, 0], [2, -1, -1]], "i")
    diff.check(chainers, ours, [xs, with_blank, inputs, lengths])


def test_ctc_of_labels_that_are_too_long():
    xs = [RNG.randn(3, 5) for _ in range(3)]
    t = np.array([[1, 1, 2], [1, 2, 3], [2, 2, 2]], "i")
    for blank in (0, 1):
        both = _both("connectionist_temporal_classification", blank, reduce="no")
        diff.check(*both, [xs, t], grad=False)
        tensors = diff.to_torch(xs)
        gradients = torch.stack(torch.autograd.grad(both[1](tensors, torch.tensor(t)).sum(), tensors))
        assert torch.isfinite(gradients).all() and not gradients[:, 2].any() and gradients[:, 1].any()


def test_ctc_refuses():
    x = np.zeros((3, 5), "f")
    t = np.ones((3, 2), "i")
    both = _both("connectionist_temporal_classification", 0)
    diff.check_raises(*both, [np.zeros((4, 3, 5), "f"), t])
    diff.check_raises(*_both("connectionist_temporal_classification", 0.0), [[x], t])
    diff.check_raises(*_both("connectionist_temporal_classification", 0, reduce="sum"), [[x], t])
    chainers, ours = _both("connectionist_temporal_classification", 5)
    with pytest.raises(AssertionError):
        chainers([x], t)
    with pytest.raises(ValueError):
        ours([torch.tensor(x)], torch.tensor(t))


BATCHES = [(4, 4, 4), (4, 3, 1), (3, 3, 2, 2), (5,), (2, 1, 1, 1), (1, 1)]


@pytest.mark.parametrize("reduce", ["mean", "no"])
@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_crf1d(reduce, batches, dtype):
    xs = [RNG.randn(n, 3) for n in batches]
    ys = [RNG.randint(0, 3, n).astype(dtype) for n in batches]
    diff.check(*_both("crf1d", reduce=reduce), [RNG.randn(3, 3), xs, ys], double_backward=True)


def test_crf1d_is_a_distribution():
    cost, xs = torch.randn(3, 3).double(), [torch.randn(1, 3).double() for _ in range(3)]
    losses = [
        sequence_loss.crf1d(cost, xs, [torch.tensor([y]) for y in ys]) for ys in itertools.product(range(3), repeat=3)
    ]
    assert torch.exp(-torch.stack(losses)).sum().item() == pytest.approx(1)


def test_crf1d_refuses():
    x, y = np.zeros((2, 3), "f"), np.zeros(2, "i")
    diff.check_raises(*_both("crf1d", reduce="sum"), [np.zeros((3, 3), "f"), [x], [y]])
    chainers, ours = _both("crf1d")
    with pytest.raises(AssertionError):
        chainers(np.zeros((4, 4), "f"), [x], [y])
    with pytest.raises(ValueError):
        ours(torch.zeros(4, 4), [torch.tensor(x)], [torch.tensor(y)])


@pytest.mark.parametrize("batches", BATCHES)
def test_argmax_crf1d(batches):
    diff.check(*_both("argmax_crf1d"), [RNG.randn(3, 3), [RNG.randn(n, 3) for n in batches]])


@pytest.mark.parametrize("reduce", ["sum", "no"])
@pytest.mark.parametrize("as_tensor", [True, False])
def test_negative_sampling(reduce, as_tensor):
    samples = RNG.randint(0, 7, (5, 4)).astype("i")
    inputs = [RNG.randn(5, 3), np.array([0, -1, 6, 2, -1], "i"), RNG.randn(7, 3)]

    def ours(x, t, w):
        sampler = (lambda shape: torch.tensor(samples)) if as_tensor else (lambda shape: samples)
        return sequence_loss.negative_sampling(x, t, w, sampler, 3, reduce=reduce, return_samples=True)

    def chainers(x, t, w, **options):
        return F.negative_sampling(x, t, w, lambda shape: samples.copy(), 3, reduce, **options)

    diff.check(lambda x, t, w: chainers(x, t, w, return_samples=True), ours, inputs, double_backward=True)
    diff.check(
        chainers, lambda x, t, w: sequence_loss.negative_sampling(x, t, w, lambda shape: samples, 3, reduce), inputs
    )


def test_negative_sampling_asks_for_one_sample_more():
    asked = []

    def sampler(shape):
        asked.append(shape)
        return torch.zeros(shape, dtype=torch.int64)

    sequence_loss.negative_sampling(torch.zeros(2, 3), torch.tensor([0, 1]), torch.zeros(4, 3), sampler, 5)
    assert asked == [(2, 6)]
    diff.check_raises(
        lambda x, t, w: F.negative_sampling(x, t, w, lambda s: np.zeros(s, "i"), 2, reduce="mean"),
        lambda x, t, w: sequence_loss.negative_sampling(x, t, w, sampler, 2, reduce="mean"),
        ["f32[2,3]", "i32[2]<4", "f32[4,3]"],
    )


@pytest.mark.parametrize("reduce", ["mean", "no", "sum"])
def test_black_out(reduce):
    inputs = [RNG.randn(5, 3), RNG.randint(0, 7, 5).astype("i"), RNG.randn(7, 3), RNG.randint(0, 7, (5, 4)).astype("i")]
    with chainer.using_config("train", True):
        diff.check(*_both("black_out", reduce=reduce), inputs, double_backward=True)
