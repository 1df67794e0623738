"""Layers of the native style beside Chainer's links, with the same weights: values and gradients."""

import copy
import io
import pickle

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.compat.links.link_slots import chainer_slots
from chainer2torch.native.first_values import given_size, initialized
from chainer2torch.native.layers import BatchNorm, Embedding, LazyLinear, Linear, conv, conv_transpose, linear
from chainer2torch.native.graphs import detach_states
from chainer2torch.native.lists import ChainList, FunctionModule, as_module
from chainer2torch.native.recurrent import GRU, LSTM, StatelessGRU, StatelessLSTM


def draw(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def same_weights(link, layer):
    """Writes the link's parameters and statistics into the layer."""
    arrays = {}
    chainer.serializers.DictionarySerializer(arrays).save(link)
    for slot in chainer_slots(layer):
        slot.write(arrays[slot.key])


def assert_equal(link, layer, *inputs, steps=1):
    """The same outputs for some calls and the same gradients after them."""
    floats = [a for a in inputs if a.dtype.kind == "f"]
    variables = [chainer.Variable(a.copy()) for a in floats]
    tensors = [torch.from_numpy(a.copy()).requires_grad_() for a in floats]
    given = [variables, tensors] if floats else [inputs, [torch.from_numpy(a) for a in inputs]]
    if any(nn.parameter.is_lazy(p) for p in layer.parameters()):
        for one, values in ((link, given[0]), (layer, [t.detach() for t in given[1]])):
            one(*values)
            if hasattr(one, "reset_state"):
                one.reset_state()
    same_weights(link, layer)
    link.cleargrads()
    expected = [link(*given[0]) for _ in range(steps)]
    got = [layer(*given[1]) for _ in range(steps)]
    for y, z in zip(expected, got):
        for a, b in zip(y if isinstance(y, tuple) else (y,), z if isinstance(z, tuple) else (z,)):
            np.testing.assert_allclose(b.detach().numpy(), a.array, rtol=1e-4, atol=1e-5)
    last, end = (expected[-1], got[-1]) if not isinstance(got[-1], tuple) else (expected[-1][1], got[-1][1])
    CF.sum(last**2).backward()
    (end**2).sum().backward()
    for variable, tensor in zip(variables, tensors):
        np.testing.assert_allclose(tensor.grad.numpy(), variable.grad, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(4, 6), (4, 1, 6), (4, 2, 3), (4, 3, 1, 2)])
@pytest.mark.parametrize("size", [6, None])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape, size, bias):
    assert_equal(L.Linear(size, 3, nobias=not bias), linear(size, 3, bias=bias), draw(*shape))
    made = Linear(6, 3, bias) if size else LazyLinear(3, bias)
    assert_equal(L.Linear(size, 3, nobias=not bias), made, draw(*shape))


def test_a_plain_linear_layer_would_differ():
    x = torch.ones(4, 1, 6)
    assert linear(6, 3)(x).shape != nn.Linear(6, 3)(x).shape


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("channels", [4, None])
def test_convolutions_that_may_wait_for_their_input(dims, channels):
    x = draw(2, 4, *(5, 6, 7)[:dims])
    assert_equal(
        L.ConvolutionND(dims, channels, 6, 3, stride=2, pad=1, groups=2),
        conv(dims, channels, 6, 3, stride=2, padding=1, groups=2),
        x,
    )
    assert_equal(
        L.DeconvolutionND(dims, channels, 6, 3, stride=2, pad=1), conv_transpose(dims, channels, 6, 3, 2, 1), x
    )


@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (5, 3, 4), (5, 3, 4, 2), (5, 3, 2, 2, 2)])
def test_batch_norm_of_any_rank(weight, bias, shape):
    link = L.BatchNormalization(3, use_gamma=weight, use_beta=bias, decay=0.7)
    layer = BatchNorm(3, eps=2e-5, momentum=0.3, weight=weight, bias=bias)
    assert_equal(link, layer, draw(*shape), steps=2)
    np.testing.assert_allclose(layer.running_var.numpy(), link.avg_var, rtol=1e-5)
    with chainer.using_config("train", False):
        assert_equal(link, layer.eval(), draw(*shape, seed=1))


def test_embedding_that_ignores_a_label():
    ids = np.array([[3, -1, 0], [-1, -1, 8]], np.int32)
    link, layer = L.EmbedID(9, 4, ignore_label=-1), Embedding(9, 4, ignore_label=-1)
    assert_equal(link, layer, ids)
    np.testing.assert_allclose(layer.weight.grad.numpy(), link.W.grad, rtol=1e-5)
    assert (layer(torch.tensor([-1])) == 0).all() and not (nn.Embedding(9, 4)(torch.tensor([8])) == 0).all()


@pytest.mark.parametrize("size", [5, None])
def test_stateful_layers(size):
    assert_equal(L.LSTM(size, 4), LSTM(size, 4), draw(3, 5), steps=3)
    assert_equal(L.GRU(5, 4), GRU(size, 4), draw(3, 5), steps=3)


def test_an_lstm_whose_batches_get_smaller_and_that_begins_again():
    link, layer = L.LSTM(5, 4), LSTM(5, 4)
    same_weights(link, layer)
    for size in (4, 2, 2, 1):
        x = draw(size, 5, seed=size)
        y, z = link(x), layer(torch.from_numpy(x))
        np.testing.assert_allclose(z.detach().numpy(), y.array, rtol=1e-5, atol=1e-6)
    for name in ("c", "h"):
        np.testing.assert_allclose(
            getattr(layer, name).detach().numpy(), getattr(link, name).array, rtol=1e-5, atol=1e-6
        )
    link.reset_state()
    layer.reset_state()
    assert layer.c is None and layer.h is None
    assert_equal(link, layer, draw(3, 5))


def test_stateless_layers():
    x, c, h = draw(3, 5), draw(3, 4, seed=1), draw(3, 4, seed=2)
    assert_equal(L.StatelessLSTM(5, 4), StatelessLSTM(5, 4), c, h, x)
    assert_equal(L.StatelessGRU(5, 4), StatelessGRU(5, 4), h, x)
    assert_equal(L.StatelessLSTM(5, 4), StatelessLSTM(5, 4), c, h[:, None], x[:, None])  # each takes rows of any shape
    assert_equal(L.StatelessGRU(5, 4), StatelessGRU(5, 4), h, x[:, None])
    for ours, theirs in ((LSTM(5, 4), L.LSTM(5, 4)), (GRU(5, 4), L.GRU(5, 4))):
        assert_equal(theirs, ours, x[:, None])


def test_forget_gates_begin_open():
    for made in (LSTM(5, 300), LSTM(None, 300)):
        made(torch.zeros(2, 5))
        expected = L.LSTM(5, 300).upward
        np.testing.assert_array_equal(made.upward.bias.detach().numpy(), expected.b.array)
        assert made.upward.weight.std().item() == pytest.approx(expected.W.array.std(), rel=0.1)


def test_values_of_their_own_stay_and_wait_for_lazy_layers():
    model = nn.Sequential(
        initialized(nn.Linear(3, 4), weight=0.5, bias=np.arange(4)),
        initialized(nn.LazyConv1d(2, 1), bias=nn.init.ones_),
        initialized(nn.Embedding(3, 2), weight=np.arange(6.0).reshape(3, 2)),
        initialized(nn.Linear(3, 4)),
    )
    assert (model[0].weight == 0.5).all() and model[0].bias.tolist() == [0, 1, 2, 3]
    assert model[2].weight.tolist() == [[0, 1], [2, 3], [4, 5]] and (model[3].bias == 0).all()
    lazy = pickle.loads(pickle.dumps(copy.deepcopy(model[1])))
    lazy(torch.ones(2, 1000, 3))
    assert (lazy.bias == 1).all() and lazy.weight.std().item() == pytest.approx(1000**-0.5, rel=0.1)
    assert given_size(lazy) is None and given_size(model[0]) == 3 and given_size(nn.Conv2d(5, 2, 1)) == 5


def test_a_saved_model_loads():
    model = nn.Sequential(LazyLinear(3), LSTM(None, 4), BatchNorm(4))
    model(torch.ones(2, 2, 5))
    model[1].reset_state()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    other = torch.load(file, weights_only=False)
    fresh = nn.Sequential(LazyLinear(3), LSTM(None, 4), BatchNorm(4))
    fresh.load_state_dict(model.state_dict())
    x = torch.ones(2, 2, 5)
    assert torch.equal(model.eval()(x), other.eval()(x))
    other[1].reset_state()
    assert torch.equal(other(x), fresh.eval()(x))


def test_lists():
    layers = [nn.Linear(2, 2), nn.Linear(2, 3)]
    held, link = ChainList(*layers), chainer.ChainList(L.Linear(2, 2), L.Linear(2, 3))
    assert held[1:] == layers[1:] and len(held) == len(link) and held[-1] is layers[1]
    assert held.pop() is layers[1] and len(held) == 1 and link.pop() is not None
    double = as_module(lambda x: x * 2)
    assert isinstance(double, FunctionModule) and double(3) == 6 and as_module(layers[0]) is layers[0]


def test_the_states_of_an_lstm_are_what_its_output_is_computed_from():
    """So that who cuts the graph of the output behind a step finds them: truncated backpropagation."""
    layer = LSTM(3, 4)
    y = layer(torch.ones(2, 3))
    assert layer.h is y
    y.sum().backward()
    detach_states(y, layer)
    assert not layer.h.requires_grad and not layer.c.requires_grad
    layer(torch.ones(2, 3)).sum().backward()
    shorter = layer(torch.ones(1, 3))
    assert shorter.shape == (1, 4) and layer.h.shape == (2, 4)
