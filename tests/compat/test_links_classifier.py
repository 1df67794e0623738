"""Classifier against Chainer: results, label keys, what is reported."""

import chainer
import chainer.functions as CF
import numpy as np
import pytest
import pytorch_pfn_extras as ppe
import torch
import torch.nn as nn
import torch.nn.functional as F
from chainer import links as L

from chainer2torch.compat.links.classifier import Classifier
from chainer2torch.compat.serializers.serializers import load_npz
from tests.support.links import check_link, npz_of

X = np.random.RandomState(0).randn(6, 5).astype("f")
LABELS = [
    np.array([0, 1, 2, 0, 1, 2], "i"),
    np.array([0, -1, 2, 0, -1, 2], "i4"),
    np.full(6, -1, "i8"),
    np.array([2, 2, 2, 0, 0, 1], "i8"),
]


@pytest.mark.parametrize("t", LABELS)
def test_defaults(t):
    link, module = L.Classifier(L.Linear(5, 3)), Classifier(nn.Linear(5, 3))
    load_npz(npz_of(link), module)
    link.cleargrads()
    c, u = link(X, t), module(torch.tensor(X), torch.tensor(t))
    c.backward()
    u.backward()
    assert u.item() == pytest.approx(float(c.array), rel=1e-5)
    assert module.loss is u and module.accuracy.item() == pytest.approx(float(link.accuracy.array))
    np.testing.assert_allclose(module.y.detach().numpy(), link.y.array, rtol=1e-5)
    np.testing.assert_allclose(module.predictor.weight.grad.numpy(), link.predictor.W.grad, rtol=1e-4, atol=1e-6)


def test_maps_of_labels():
    t = np.random.RandomState(0).randint(-1, 3, (2, 4, 5)).astype("i")
    x = np.random.RandomState(0).randn(2, 3, 4, 5).astype("f")
    link, module = L.Classifier(CF.identity), Classifier(lambda x: x)
    with chainer.using_config("train", True):
        expected = link(x, t)
    assert module(torch.tensor(x), torch.tensor(t)).item() == pytest.approx(float(expected.array), rel=1e-5)
    assert module.accuracy.item() == pytest.approx(float(link.accuracy.array))


def test_training_steps():
    check_link(lambda: L.Classifier(L.Linear(5, 3)), lambda: Classifier(nn.Linear(5, 3)), ["f32[6,5]", "i32[6]<3"])
    check_link(
        lambda: L.Classifier(L.Linear(5, 3), CF.mean_squared_error, CF.mean_absolute_error),
        lambda: Classifier(nn.Linear(5, 3), F.mse_loss, F.l1_loss),
        ["f32[6,5]", "f32[6,3]"],
    )


@pytest.mark.parametrize(
    "key,args,kwargs",
    [
        (-1, ("x", "t"), {}),
        (0, ("t", "x"), {}),
        (1, ("x", "t"), {}),
        ("t", ("x",), {"t": "t"}),
        ("t", (), {"x": "x", "t": "t"}),
        (-2, ("t", "x"), {}),
    ],
)
def test_label_keys(key, args, kwargs):
    t = LABELS[0]
    link, module = L.Classifier(L.Linear(5, 3), label_key=key), Classifier(nn.Linear(5, 3), label_key=key)
    load_npz(npz_of(link), module)
    c_values, t_values = {"x": X, "t": t}, {"x": torch.tensor(X), "t": torch.tensor(t)}
    if "x" in kwargs:  # nn.Linear calls its argument `input`
        module.predictor.forward = lambda x: F.linear(x, module.predictor.weight, module.predictor.bias)
    c = link(*[c_values[a] for a in args], **{k: c_values[v] for k, v in kwargs.items()})
    u = module(*[t_values[a] for a in args], **{k: t_values[v] for k, v in kwargs.items()})
    assert u.item() == pytest.approx(float(c.array), rel=1e-5)


@pytest.mark.parametrize("key,args", [(2, 2), (-3, 2), ("label", 2), (0, 0)])
def test_bad_calls(key, args):
    for classifier in (L.Classifier(L.Linear(5, 3), label_key=key), Classifier(nn.Linear(5, 3), label_key=key)):
        with pytest.raises(ValueError):
            classifier(*[X] * args)


def test_bad_key_type():
    for cls in (L.Classifier, Classifier):
        with pytest.raises(TypeError):
            cls(None, label_key=1.5)


def test_what_is_reported():
    module = Classifier(nn.Linear(5, 3))
    reporter = ppe.reporting.Reporter()
    reporter.add_observer("main", module)
    observation = {}
    with reporter.scope(observation):
        loss = module(torch.tensor(X), torch.tensor(LABELS[0]))
    assert sorted(observation) == ["main/accuracy", "main/loss"]
    assert float(observation["main/loss"]) == pytest.approx(loss.item())
    module.compute_accuracy = False
    observation = {}
    with reporter.scope(observation):
        module(torch.tensor(X), torch.tensor(LABELS[0]))
    assert list(observation) == ["main/loss"] and module.accuracy is None


def test_a_loss_with_parameters_is_not_registered():
    module = Classifier(nn.Linear(5, 3), lossfun=nn.Bilinear(1, 1, 1))
    assert sorted(dict(module.named_parameters())) == ["predictor.bias", "predictor.weight"]
