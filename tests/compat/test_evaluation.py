"""Scores of predictions against Chainer."""

import warnings

import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import evaluation
from tests.support import differential as diff

RNG = np.random.RandomState(0)


def _check(*args, **options):
    diff.check(*args, grad=False, **options)  # Chainer's scores are nodes of the graph, but pass no gradient on


def _both(name, **options):
    return (lambda *a: getattr(F, name)(*a, **options)), (lambda *a: getattr(evaluation, name)(*a, **options))


@pytest.mark.parametrize(
    "y, t",
    [
        ((7, 4), (7,)),
        ((7, 4, 3), (7, 3)),
        ((5, 4, 1, 1), (5,)),
        ((2, 3, 4, 5), (2, 4, 5)),
        ((1, 1), (1,)),
        ((4, 3, 1), (4, 1)),
    ],
)
@pytest.mark.parametrize("ignore_label", [None, -1, 0, 2])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_accuracy(y, t, ignore_label, dtype):
    for scores in (RNG.randn(*y), RNG.randint(0, 2, y).astype("f")):  # of several largest the first counts
        _check(*_both("accuracy", ignore_label=ignore_label), [scores, RNG.randint(-1, y[1], t).astype(dtype)])


def test_accuracy_edges():
    _check(*_both("accuracy", ignore_label=-1), [RNG.randn(3, 4), np.full(3, -1, "i")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _check(*_both("accuracy"), [np.zeros((0, 4)), np.zeros(0, "i")])
    _check(*_both("accuracy", ignore_label=-1), [np.zeros((0, 4)), np.zeros(0, "i")])
    _check(*_both("accuracy"), [RNG.randn(300, 3), RNG.randint(0, 3, 300)], dtypes=[np.float16])


@pytest.mark.parametrize(
    "y, t",
    [
        ("f32[4,3]", "i32[2,2]<3"),
        ("f32[4,3]", "i32[3]<3"),
        ("f32[4,3,2]", "i32[4]<3"),
        ("f32[4,3]", "f32[4]"),
        ("i32[4,3]", "i32[4]<3"),
        ("f32[4]", "i32[4,1]<3"),
    ],
)
@pytest.mark.parametrize("name", ["accuracy", "classification_summary"])
def test_labels_that_do_not_fit(name, y, t):
    diff.check_raises(*_both(name), [y, t])


@pytest.mark.parametrize("shape", [(9,), (3, 4), (2, 3, 4), (1,), ()])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_binary_accuracy(shape, dtype):
    t = np.asarray(RNG.randint(-1, 2, shape)).astype(dtype)
    for y in (RNG.randn(*shape), np.zeros(shape)):
        _check(*_both("binary_accuracy"), [np.asarray(y), t])
    _check(*_both("binary_accuracy"), [np.zeros(shape), np.full_like(t, -1)])


def test_binary_accuracy_refuses():
    diff.check_raises(*_both("binary_accuracy"), ["f32[3,1]", "i32[3]<2"])
    diff.check_raises(*_both("binary_accuracy"), ["f32[3]", "f32[3]"])
    diff.check_raises(*_both("binary_accuracy"), ["i32[3]", "i32[3]<2"])


@pytest.mark.parametrize("name", ["classification_summary", "precision", "recall", "f1_score"])
@pytest.mark.parametrize("y, t", [((30, 4), (30,)), ((9, 4, 3), (9, 3)), ((5, 4, 1), (5,))])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"label_num": 4},
        {"label_num": 2},
        {"label_num": 6},
        {"ignore_label": 0},
        {"label_num": 3, "ignore_label": 3},
    ],
)
def test_classification_summary(name, y, t, options):
    labels = RNG.randint(-1 if options.get("ignore_label", -1) == -1 else 0, 4, t).astype("i")
    with np.errstate(all="ignore"):
        _check(*_both(name, **options), [RNG.randn(*y), labels])
        if name == "classification_summary":
            _check(*_both(name, beta=2.0, **options), [RNG.randn(*y), labels.astype("i8")])


@pytest.mark.parametrize("shape", [(9,), (9, 3), (4, 3, 2), (1, 2)])
@pytest.mark.parametrize("multioutput", ["uniform_average", "raw_values"])
def test_r2_score(shape, multioutput):
    true = RNG.randn(*shape)
    both = _both("r2_score", multioutput=multioutput)
    if shape != (9,):  # Chainer cannot assign to the scalar it makes of one output
        _check(*both, [true + RNG.randn(*shape), true])
        _check(*both, [true, np.ones(shape)])
    else:
        _check(*both, [true + RNG.randn(*shape), true])


def test_r2_score_refuses():
    diff.check_raises(*_both("r2_score"), ["f32[9,1]", "f32[9,3]"])
    diff.check_raises(*_both("r2_score", multioutput="mean"), ["f32[9]", "f32[9]"])
    diff.check_raises(*_both("r2_score", sample_weight=1), ["f32[9]", "f32[9]"])


def test_scores_have_no_gradient():
    y = torch.randn(3, 4, requires_grad=True)
    t = torch.tensor([0, 1, 2])
    assert not evaluation.accuracy(y, t).requires_grad
    assert not any(score.requires_grad for score in evaluation.classification_summary(y, t))
    assert not evaluation.r2_score(y, torch.ones(3, 4)).requires_grad
