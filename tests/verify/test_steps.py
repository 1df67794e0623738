"""What the harness itself does between calls, and calls of Chainer 1 on the side of the original."""

import types
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.verify.worker import torch_models
from chainer2torch.verify.worker import first_version, kept_state


class _Part:
    def __init__(self):
        self.h = None
        self.seen = []
        self.count = 0


def _has_graph(value):
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def test_values_stay_and_graphs_go():
    part, weight = _Part(), torch.ones(2, requires_grad=True)
    part.h, part.new, part.count = weight * 2, (weight + 1, 3), 1
    part.seen.append({"y": weight * 3})
    kept_state.cut([part], _has_graph, torch.Tensor.detach)
    assert float(part.h.sum()) == 4 and float(part.new[0].sum()) == 4 and float(part.seen[0]["y"].sum()) == 6
    assert not any(_has_graph(value) for value in (part.h, part.new[0], part.seen[0]["y"]))
    assert part.new[1] == 3 and part.count == 1


def test_states_that_are_buffers():
    module = torch.nn.Module()
    module.register_buffer("h", torch.zeros(2))
    module.register_buffer("mean", torch.zeros(2))
    module.h = module.h + torch.ones(2, requires_grad=True)
    mean = module.mean
    kept_state.cut(module.modules(), _has_graph, torch.Tensor.detach, ["_buffers"])
    assert float(module.h.sum()) == 2 and not module.h.requires_grad and module.mean is mean


@pytest.fixture
def old(monkeypatch):
    """Chainer with the calls of version 1."""
    for name in first_version._FUNCTIONS + ["dropout"]:
        monkeypatch.setattr(F, name, getattr(F, name))
    links = (L.Inception, L.ConvolutionND, L.LSTM, L.StatelessLSTM, L.GRU, L.InceptionBN, L.MLPConvolution2D, L.Highway)
    stacks = (L.NStepLSTM, L.NStepBiLSTM, L.NStepGRU, L.NStepBiGRU)
    for cls in stacks:
        monkeypatch.setattr(cls, "forward", cls.forward)
    for cls in (*links, *stacks, L.BatchNormalization):
        monkeypatch.setattr(cls, "__init__", cls.__init__)
    for name in first_version._PLACES:
        monkeypatch.setattr(getattr(L, name), "__init__", getattr(L, name).__init__)
    monkeypatch.setattr(L.Linear, "forward", L.Linear.forward)
    monkeypatch.setattr(L.BatchNormalization, "forward", L.BatchNormalization.forward)
    monkeypatch.setattr(chainer.Variable, "__init__", chainer.Variable.__init__)
    monkeypatch.setattr(chainer.Variable, "volatile", "off", raising=False)
    monkeypatch.setattr(L, "GRU", L.GRU)
    patches = first_version.FirstVersion()
    patches.install()
    return patches


def test_arguments_of_version_1(old):
    x = np.ones((2, 3, 8, 8), np.float32)
    assert chainer.Variable(x, volatile="on").shape == x.shape
    conv = L.Convolution2D(3, 4, 3, 1, 0, 1.4, 0.5, nobias=True)
    assert conv.b is None and conv(x).shape == (2, 4, 6, 6)
    assert L.Linear(3, 2, 1.0, 0.5).b is not None and L.Linear(3, 2, True).b is None
    assert F.relu(x, use_cudnn=False).shape == x.shape
    assert L.BatchNormalization(3, use_cudnn=False)(x).shape == x.shape
    assert len(L.NStepLSTM(2, 3, 4, 0.1, True)) == len(L.NStepGRU(2, 3, 4, 0.1, use_cudnn=False)) == 2
    with pytest.raises(TypeError, match="not a mode"):  # tried as the predictor of ``self.predictor(x, train)``
        L.Linear(3, 2)(x[:, :, 0, 0], True)
    assert (F.dropout(x, train=False).data == 1).all() and (F.dropout(x, 0.5, True).data != 1).any()


@pytest.mark.parametrize("name", ["LSTM", "StatelessLSTM"])
def test_the_forget_gate_of_version_1_begins_at_0(old, name):
    make = getattr(L, name)
    assert make(3, 2).upward.b.array.sum() == 2  # of today
    old.is_meant = True
    assert make(3, 2).upward.b.array.sum() == 0
    for said in (make(3, 2, None, None, None, 1), make(3, 2, forget_bias_init=1)):
        assert said.upward.b.array.sum() == 2


def test_modes_of_version_1(old):
    x = np.random.RandomState(0).normal(3, 2, (6, 4)).astype(np.float32)
    bn = L.BatchNormalization(4)
    with chainer.using_config("train", False):
        assert abs(float(F.mean(bn(x)).data)) > 1 and (F.dropout(x).data == x).all()
        old.is_meant = True
        assert abs(float(F.mean(bn(x)).data)) < 1e-5 and (F.dropout(x).data != x).any()
        assert abs(float(F.mean(bn(x, test=True)).data)) > 0.1
    assert L.GRU is L.StatelessGRU
    old.is_meant = False
    assert L.GRU is not L.StatelessGRU


def test_volatile_inputs_have_a_graph_on_both_sides():
    said = []
    helpers = types.SimpleNamespace(volatile_variable=lambda data, volatile: said.append(volatile))
    for _ in range(2):
        torch_models._not_volatile(helpers)
    helpers.volatile_variable([1], True)
    assert said == ["off"]
    torch_models._not_volatile(types.SimpleNamespace())
