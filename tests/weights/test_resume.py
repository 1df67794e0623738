"""A training run that goes on in the other framework: the model and the optimizer of a Chainer snapshot, and back."""

import io

import chainer
import chainer.functions as CF
import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from chainer import links as L

from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.initializers.layer_init import init_like_chainer
from chainer2torch.compat.serializers.serializers import load_npz, save_npz

OPTIMIZERS = [
    ("Adam", {"alpha": 0.01}),
    ("Adam", {"alpha": 0.01, "amsgrad": True, "weight_decay_rate": 0.1}),
    ("MomentumSGD", {"lr": 0.05, "momentum": 0.8}),
    ("SGD", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.005}),
    ("AdaDelta", {}),
    ("AdaGrad", {"lr": 0.01}),
    ("CorrectedMomentumSGD", {"lr": 0.05}),
    ("NesterovAG", {"lr": 0.05}),
    ("RMSpropGraves", {"lr": 0.001}),
    ("SMORMS3", {"lr": 0.01}),
    ("MSVAG", {"lr": 0.05}),
    ("AdaBound", {}),
    ("AMSBound", {}),
    ("AMSGrad", {}),
    ("AdamW", {}),
]


class CNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(None, 4, 3)
            self.bn = L.BatchNormalization(4)
            self.out = L.Linear(None, 3)

    def loss(self, x, t):
        return CF.softmax_cross_entropy(self.out(CF.tanh(self.bn(self.conv(x)))), t)


class TNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.LazyConv2d(4, 3)
        self.bn = nn.BatchNorm2d(4, eps=2e-5)
        self.out = nn.LazyLinear(3)
        init_like_chainer(self)

    def loss(self, x, t):
        return F.cross_entropy(self.out(torch.tanh(self.bn(self.conv(x))).flatten(1)), t)


@pytest.fixture(autouse=True)
def float64():
    torch.set_default_dtype(torch.float64)
    with chainer.using_config("dtype", np.float64):
        yield
    torch.set_default_dtype(torch.float32)


def batches(start, count=10):
    for i in range(start, start + count):
        rng = np.random.RandomState(i)
        yield rng.randn(6, 2, 5, 5), rng.randint(0, 3, 6)


def run_chainer(model, optimizer, start, count=10):
    losses = []
    for x, t in batches(start, count):
        loss = model.loss(x, t.astype("i"))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses


def run_torch(model, optimizer, start, count=10):
    losses = []
    for x, t in batches(start, count):
        loss = model.loss(torch.from_numpy(x), torch.from_numpy(t))
        model.zero_grad()
        loss.backward()
        optimizer.update()
        losses.append(loss.item())
    return losses


class _Updater:
    """Stands for a trainer's updater: it serializes its model and its optimizer under these names."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def serialize(self, serializer):
        serializer("iteration", 5)
        updater = serializer["updater"]
        self.optimizer.serialize(updater["optimizer:main"])
        self.model.serialize(updater["model:main"])


def pair(name, options):
    link, module = CNet(), TNet()
    ours = getattr(optimizers, name)(**options).setup(module)
    return link, module, getattr(chainer.optimizers, name)(**options).setup(link), ours


def snapshot_of(link, optimizer):
    file = io.BytesIO()
    chainer.serializers.save_npz(file, _Updater(link, optimizer))
    file.seek(0)
    return file


@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_a_snapshot_of_chainer_goes_on(name, options):
    link, module, theirs, ours = pair(name, options)
    run_chainer(link, theirs, 0, 5)
    file = snapshot_of(link, theirs)
    load_npz(file, module, path="updater/model:main/")
    file.seek(0)
    load_npz(file, ours, path="updater/optimizer:main/")
    resumed, _, resumed_theirs, _ = pair(name, options)
    for target, path in ((resumed, "updater/model:main/"), (resumed_theirs, "updater/optimizer:main/")):
        file.seek(0)
        chainer.serializers.load_npz(file, target, path=path)
    expected = run_chainer(resumed, resumed_theirs, 5)
    np.testing.assert_allclose(run_torch(module, ours, 5), expected, rtol=1e-9)
    assert len(set(expected)) == 10
    # Chainer's file lacks MSVAG's product of betas: it goes on in another way than without the interruption
    assert np.allclose(expected, run_chainer(link, theirs, 5), rtol=1e-9, atol=0) == (name != "MSVAG")


@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_and_back_again(name, options):
    """Half of the way in PyTorch, then both go on: Chainer from the files that PyTorch wrote."""
    link, module, theirs, ours = pair(name, options)
    run_chainer(link, theirs, 0, 2)
    file = snapshot_of(link, theirs)
    load_npz(file, module, path="updater/model:main/")
    file.seek(0)
    load_npz(file, ours, path="updater/optimizer:main/")
    run_torch(module, ours, 2, 5)
    files = io.BytesIO(), io.BytesIO()
    save_npz(files[0], module)
    save_npz(files[1], ours)
    new_link, _, new_theirs, _ = pair(name, options)
    for written, target in zip(files, (new_link, new_theirs)):
        written.seek(0)
        chainer.serializers.load_npz(written, target)
    assert new_theirs.t == 7
    if name == "MSVAG":  # its file lacks the product of betas: what goes on must come from the file, too
        _, module, _, ours = pair(name, options)
        for written, target in zip(files, (module, ours)):
            written.seek(0)
            load_npz(written, target)
    np.testing.assert_allclose(run_chainer(new_link, new_theirs, 7), run_torch(module, ours, 7), rtol=1e-9)


@pytest.mark.parametrize("name, options", OPTIMIZERS[:3])
def test_without_its_state_the_optimizer_would_go_another_way(name, options):
    """What the tests above can fail at: the model alone gives other losses."""
    link, module, theirs, ours = pair(name, options)
    run_chainer(link, theirs, 0, 5)
    load_npz(snapshot_of(link, theirs), module, path="updater/model:main/")
    assert not np.allclose(run_torch(module, ours, 5), run_chainer(link, theirs, 5), rtol=1e-5)


def test_an_optimizer_before_its_model():
    link, module, theirs, ours = pair("Adam", {})
    run_chainer(link, theirs, 0, 2)
    with pytest.raises(ValueError, match="load the model before its optimizer"):
        load_npz(snapshot_of(link, theirs), ours, path="updater/optimizer:main/")


def test_another_optimizers_snapshot_is_refused():
    link, module, theirs, _ = pair("MomentumSGD", {})
    run_chainer(link, theirs, 0, 2)
    file = snapshot_of(link, theirs)
    load_npz(file, module, path="updater/model:main/")
    adam = optimizers.Adam().setup(module)
    before = adam.t
    file.seek(0)
    with pytest.raises(KeyError):
        load_npz(file, adam, path="updater/optimizer:main/")
    assert before == 0
