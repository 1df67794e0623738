"""A project half way: the same training whichever side of the seam the model and the optimizer are on."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch
import torch.nn as nn

from chainer2torch.compat.half_way import seams

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
LABELS = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)


class Net(chainer.Chain):
    def __init__(self, dtype):
        super().__init__()
        rng = np.random.RandomState(3)
        with self.init_scope(), chainer.using_config("dtype", np.dtype(dtype)):
            self.a = L.Linear(4, 5, initialW=rng.randn(5, 4).astype(dtype))
            self.bn = L.BatchNormalization(5, dtype=np.dtype(dtype))
            self.b = L.Linear(5, 3, initialW=rng.randn(3, 5).astype(dtype))
            self.unused = L.Linear(2, 2)

    def forward(self, x):
        return self.b(F.leaky_relu(self.bn(self.a(x))))


class TorchNet(nn.Module):
    """The same network with the same weights."""

    def __init__(self, net):
        super().__init__()
        self.a, self.b, self.unused = nn.Linear(4, 5), nn.Linear(5, 3), nn.Linear(2, 2)
        self.bn = nn.BatchNorm1d(5, eps=2e-5)
        self.to(torch.from_numpy(net.a.W.array).dtype)
        for name in ("a", "b", "unused"):
            getattr(self, name).weight.data.copy_(torch.from_numpy(getattr(net, name).W.array))
            getattr(self, name).bias.data.copy_(torch.from_numpy(getattr(net, name).b.array))

    def forward(self, x):
        return self.b(torch.nn.functional.leaky_relu(self.bn(self.a(x)), 0.2))


def data(dtype, seed=0):
    return np.random.RandomState(seed).randn(6, 4).astype(dtype)


def chainer_steps(net, forward, steps=6):
    optimizer = chainer.optimizers.MomentumSGD(0.05).setup(net)
    losses = []
    for i in range(steps):
        net.cleargrads()
        loss = F.softmax_cross_entropy(forward(chainer.Variable(data(net_dtype(net), i))), LABELS)
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses


def net_dtype(net):
    return next(p.dtype for name, p in sorted(net.namedparams()) if "unused" not in name)


def torch_steps(module, dtype, steps=6):
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for i in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(torch.from_numpy(data(dtype, i))), torch.from_numpy(LABELS).long())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def close(a, b, dtype):
    rtol, atol = (1e-4, 1e-5) if dtype == "float32" else (1e-9, 1e-12)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@DTYPES
def test_the_training_script_first_a_link_under_torchs_optimizer(dtype):
    reference = Net(dtype)
    want = chainer_steps(reference, reference)
    net = Net(dtype)
    net.cleargrads()
    module = seams.link_as_module(net)
    assert sorted(dict(module.named_parameters())) == sorted(path[1:] for path, _ in net.namedparams())
    close(torch_steps(module, dtype), want, dtype)
    for (path, a), (_, b) in zip(sorted(net.namedparams()), sorted(reference.namedparams())):
        if "unused" not in path:
            close(a.array, b.array, dtype)
    close(net.bn.avg_var, reference.bn.avg_var, dtype)
    assert all(p.grad is None for p in net.params()), "the gradients are torch's"


@DTYPES
def test_the_model_first_a_module_under_chainers_optimizer(dtype):
    reference = Net(dtype)
    module = TorchNet(reference)
    link = seams.module_as_link(module)
    want = chainer_steps(reference, reference)
    close(chainer_steps(link, link), want, dtype)
    close(module.a.weight.detach(), reference.a.W.array, dtype)
    close(module.bn.running_var, reference.bn.avg_var, dtype)


@DTYPES
def test_both_seams_at_once(dtype):
    reference = Net(dtype)
    module = TorchNet(reference)
    twice = seams.link_as_module(seams.module_as_link(module))
    close(torch_steps(twice, dtype), chainer_steps(reference, reference), dtype)


@pytest.mark.parametrize("wrap", [seams.link_as_module, lambda net: seams.module_as_link(TorchNet(net))])
def test_training_and_test_mode_cross(wrap):
    net = Net("float32")
    wrapped = wrap(net)
    x = data("float32")
    with chainer.using_config("train", False):
        want = net(x).array
    if isinstance(wrapped, nn.Module):
        wrapped.eval()
        got = wrapped(torch.from_numpy(x)).detach().numpy()
        mean = net.bn.avg_mean
    else:
        with chainer.using_config("train", False):
            got = wrapped(x).array
        mean = wrapped.module.bn.running_mean.numpy()
    close(got, want, "float32")
    assert not mean.any(), "statistics do not move in test mode"


class TwoOfThree(chainer.Chain):
    def forward(self, x, y, flag):
        assert flag == "plain"
        return F.sum(x * y), F.argmax(x, axis=1), y * 2


@DTYPES
def test_gradients_of_inputs_several_outputs_and_plain_arguments(dtype):
    x, y = data(dtype, 1), data(dtype, 2)
    tensors = [torch.from_numpy(a.copy()).requires_grad_() for a in (x, y)]
    total, index, twice = seams.link_as_module(TwoOfThree())(*tensors, "plain")
    assert not index.requires_grad and (index.numpy() == x.argmax(1)).all()
    (total * 3 + twice.sum()).backward()
    close(tensors[0].grad, 3 * y, dtype)
    close(tensors[1].grad, 3 * x + 2, dtype)


class Pair(nn.Module):
    def forward(self, x, t):
        return [x * x, x.argmax(1) + t]


@DTYPES
def test_gradients_of_inputs_of_a_module(dtype):
    x = chainer.Variable(data(dtype, 1))
    square, index = seams.module_as_link(Pair())(x, LABELS.astype(np.int64))
    assert (index.array == x.array.argmax(1) + LABELS).all()
    F.sum(square * 3).backward()
    close(x.grad, 6 * x.array, dtype)


def test_without_gradients_nothing_is_kept():
    module = seams.link_as_module(Net("float32"))
    with torch.no_grad():
        y = module(torch.from_numpy(data("float32")))
    assert not y.requires_grad


def test_what_has_no_shape_yet_is_refused():
    with pytest.raises(ValueError, match="/W has no shape yet"):
        seams.link_as_module(L.Linear(None, 3))
    with pytest.raises(ValueError, match="without a shape"):
        seams.module_as_link(nn.LazyLinear(3))
