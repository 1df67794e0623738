"""Models that are updated one after the other on one graph, cut in between: as in Chainer."""

import collections

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.variable import variables


def _chainer(weights, x):
    links = []
    for w, b in weights:
        link = L.Linear(4, 4)
        link.W.array[...], link.b.array[...] = w, b
        links.append(link)
    opts = [chainer.optimizers.Adam().setup(link) for link in links]
    for _ in range(3):
        z = F.tanh(links[0](x))
        y = F.tanh(links[1](z))
        out = links[2](y)
        opts[0].update(lambda o: F.sum(o * o), out)
        z.unchain_backward()
        opts[1].update(lambda o, y: F.sum(o * o) + F.sum(y), out, y)
        y.unchain_backward()
        opts[2].update(lambda o: F.sum(o * o * o), out)
    return [link.W.array for link in links] + [link.b.array for link in links]


def _torch(weights, x):
    layers = []
    for w, b in weights:
        layer = nn.Linear(4, 4)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(w))
            layer.bias.copy_(torch.tensor(b))
        layers.append(layer)
    opts = [optimizers.Adam().setup(layer) for layer in layers]
    for _ in range(3):
        z = torch.tanh(layers[0](torch.tensor(x)))
        y = torch.tanh(layers[1](z))
        out = layers[2](y)
        opts[0].update(lambda o: torch.sum(o * o), out)
        variables.unchain_backward(z)
        opts[1].update(lambda o, y: torch.sum(o * o) + torch.sum(y), out, y)
        variables.unchain_backward(y)
        opts[2].update(lambda o: torch.sum(o * o * o), out)
    return [layer.weight.detach().numpy() for layer in layers] + [layer.bias.detach().numpy() for layer in layers]


def test_three_models_on_one_graph():
    rng = np.random.RandomState(0)
    weights = [(rng.randn(4, 4).astype("f"), rng.randn(4).astype("f")) for _ in range(3)]
    x = rng.randn(5, 4).astype("f")
    for expected, actual in zip(_chainer(weights, x), _torch(weights, x), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


def test_nothing_before_the_cut():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    variables.unchain_backward(y)
    variables.backward(y.sum())
    assert x.grad is None


def test_a_way_around_the_cut_is_refused():
    x = torch.ones(3, requires_grad=True)
    y = torch.tanh(x)
    variables.unchain_backward(y)
    with pytest.raises(RuntimeError, match="cut"):
        variables.backward((y * x).sum())


def test_what_is_kept_between_steps_is_let_go_wherever_it_stands():
    x = torch.ones(3, requires_grad=True)
    y, z = torch.tanh(x), torch.tanh(x * 2)
    pair = collections.namedtuple("Pair", "first second")(y, None)
    variables.unchain_backward(y)
    state = {"a": [y, (z, 3)], "b": pair}
    inner = state["a"]
    kept = variables.live(state)
    assert kept is state and kept["a"] is inner, "what is appended to a list afterwards is not lost"
    assert not kept["a"][0].requires_grad and kept["a"][1][0] is z and kept["a"][1][1] == 3
    assert type(kept["b"]) is type(pair) and not kept["b"].first.requires_grad and kept["b"].second is None
    assert torch.equal(kept["a"][0], y.detach())
