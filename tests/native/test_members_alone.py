"""Short helpers that whole programs use, by themselves: graphs, lists, layers that count, copies, scopes."""

import copy

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.native import graphs, layers, links, lists, settings


def a(*shape, seed=0):
    return np.random.RandomState(seed + len(shape)).randn(*shape).astype("f")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("again", [False, True])
def test_gradients_of_several_outputs(weighted, again):
    found = []
    for wrap in (chainer.Variable, lambda value: torch.tensor(value, requires_grad=True)):
        xs = [wrap(a(3)), wrap(a(3, seed=1)), wrap(a(3, seed=2))]
        ys = [xs[0] * xs[1], xs[0] * xs[0]]
        weights = [wrap(a(3, seed=3)), None] if weighted else None
        if isinstance(xs[0], chainer.Variable):
            given = chainer.grad(ys, xs, weights, enable_double_backprop=again)
        else:
            given = graphs.grad(ys, xs, weights, create_graph=again)
            assert given[0].requires_grad is again and graphs.grad(ys, xs)[2] is None  # the graph is still there
        found.append(
            [
                None if g is None else np.asarray(getattr(g, "array", None) if hasattr(g, "array") else g.detach())
                for g in given
            ]
        )
    for theirs, ours in zip(*found, strict=True):
        assert (theirs is None) == (ours is None)
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_where_a_backward_pass_starts():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    graphs.set_grad(y, np.array([1.0, 10.0], "f"))
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [3, 30] and y.grad is None
    x.grad = None
    y.backward(torch.ones(2), retain_graph=True)  # the next one starts as it does in torch
    assert x.grad.tolist() == [3, 3]
    graphs.set_grad(y, torch.ones(2))
    graphs.set_grad(y, None)
    assert "backward" not in vars(y)
    graphs.set_grad(x, [5.0, 6.0])
    assert x.grad.tolist() == [5, 6]
    for scale, start, expected in ((None, None, 2.0), (4.0, None, 8.0), (4.0, 3.0, 6.0)):
        x.grad = None
        z = (x * 2).sum()
        if start is not None:
            graphs.set_grad(z, torch.tensor(start))
        graphs.backward(z, loss_scale=scale, retain_grad=True)
        assert x.grad.tolist() == [expected] * 2
    w = (x * x).sum()
    x.grad = None
    graphs.backward(w, enable_double_backprop=True)
    assert x.grad.requires_grad
    held, end = x * 2, None
    end = held * 3
    graphs.backward_until((end * x).sum(), held)
    assert graphs.variable(np.arange(2)).requires_grad is False and graphs.variable(a(2)).requires_grad


def test_lists_of_modules():
    one, two, three = (nn.Linear(1, n) for n in (1, 2, 3))
    made = lists.ChainList(one, two, three)
    assert list(made.state_dict())[0] == "0.weight" and made[1:] == [two, three] and made[-1] is three
    assert made.index(two) == 1 and made.count(three) == 1 and made.index(three, 2) == 2
    with pytest.raises(ValueError):
        made.index(one, 1)
    made.reverse()
    assert list(made) == [three, two, one]
    assert made.pop() is one and made.pop(0) is three and list(made) == [two]
    made.append(one)
    made.remove(two)
    assert list(made) == [one]
    made.clear()
    assert len(made) == 0
    function = lists.as_module(torch.relu)
    assert function(torch.tensor([-1.0, 1.0])).tolist() == [0, 1] and lists.as_module(one) is one


def test_statistics_that_are_plain_averages():
    theirs, ours = L.BatchNormalization(3), layers.FinetunedBatchNorm(3, 2e-5, 0.1)
    for step, finetune in enumerate((False, True, True, False, True)):
        x = a(4, 3, seed=step)
        expected = theirs(x, finetune=finetune).array
        np.testing.assert_allclose(ours(torch.tensor(x), finetune=finetune).detach(), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.running_mean, theirs.avg_mean, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(ours.running_var, theirs.avg_var, rtol=1e-4, atol=1e-6)
    assert ours._chainer_N == int(theirs.N) == 3 and ours.momentum == 0.1
    ours.eval()(torch.tensor(x), finetune=True)
    assert ours._chainer_N == 3


@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_normalizations_with_a_weight_or_a_bias_alone(weight, bias):
    theirs = L.BatchNormalization(3, use_gamma=weight, use_beta=bias)
    ours = layers.BatchNorm(3, 2e-5, 0.1, weight, bias)
    x = a(4, 3, 2)
    np.testing.assert_allclose(ours(torch.tensor(x)).detach(), theirs(x).array, rtol=1e-4, atol=1e-5)
    assert len(list(ours.parameters())) == weight + bias and ours.affine is (weight and bias)
    assert layers.BatchNorm(3, running_var=0).running_var.tolist() == [0] * 3
    assert layers.BatchNorm(3).running_var.tolist() == [1] * 3


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("n_in", [None, 4])
def test_convolutions_of_any_rank(dims, n_in):
    for make, names in ((layers.conv, "Conv"), (layers.conv_transpose, "ConvTranspose")):
        layer = make(dims, n_in, 6, 3, stride=2)
        assert type(layer).__name__ == f"{'Lazy' if n_in is None else ''}{names}{dims}d"
        layer(torch.ones(1, 4, *(7,) * dims))
        assert layer.in_channels == 4 and layer.out_channels == 6 and layer.stride == (2,) * dims


class Copies(nn.Module):
    def copy(self, mode="share"):
        return mode


def test_copies_by_a_mode():
    fc = nn.Linear(2, 2)
    assert links.copy_of(fc).weight.data_ptr() == fc.weight.data_ptr() and links.copy_of(fc).weight is not fc.weight
    assert links.copy_of(fc, "share").weight.data_ptr() == fc.weight.data_ptr()
    assert links.copy_of(fc, "copy").weight.data_ptr() != fc.weight.data_ptr()
    assert links.copy_of(fc, "copy").weight.tolist() == fc.weight.tolist()
    with pytest.raises(NotImplementedError, match="init"):
        links.copy_of(fc, "init")
    assert links.copy_of(Copies()) == "share" and links.copy_of(Copies(), "init") == "init"
    listed = [1]
    assert links.copy_of(listed) == listed and links.copy_of(listed) is not listed


def test_scopes_in_scopes():
    net = nn.Module()
    assert links.within_init_scope(net) is False
    with links.init_scope(net):
        with links.init_scope(net):
            assert links.within_init_scope(net) is True
        assert links.within_init_scope(net) is True
    assert links.within_init_scope(net) is False and links.within_init_scope(copy.deepcopy(net)) is False


def test_settings_that_an_optimizer_does_not_have():
    sgd = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    settings.set_setting(sgd, "lr", 0.5)
    assert settings.setting(sgd, "lr") == sgd.param_groups[0]["lr"] == 0.5
    with pytest.raises(AttributeError, match="no setting"):
        settings.set_setting(sgd, "missing", 1)


def test_ids_that_are_ignored():
    theirs, ours = L.EmbedID(4, 3, ignore_label=-1), layers.Embedding(4, 3)
    other = layers.Embedding(4, 3, 2)
    for layer in (ours, other):
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(theirs.W.array))
    ids = np.array([[0, -1], [3, 0]], "i")
    y = ours(torch.tensor(ids))
    np.testing.assert_array_equal(y.detach(), theirs(ids).array)
    (y * torch.tensor(a(2, 2, 3))).sum().backward()
    theirs.cleargrads()
    chainer.functions.sum(theirs(ids) * a(2, 2, 3)).backward()
    np.testing.assert_allclose(ours.weight.grad, theirs.W.grad, rtol=1e-5)
    assert other(torch.tensor([2])).tolist() == [[0, 0, 0]]
