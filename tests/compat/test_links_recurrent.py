"""Recurrent links that take one step at a time, against Chainer over several steps."""

import copy
import pickle

import chainer
import numpy as np
import pytest
import torch
from chainer import links as L

from chainer2torch.compat.initializers import initializers as ti
from chainer2torch.compat.links import recurrent_links as T
from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.compat.variable.variables import unchain_backward
from chainer2torch.native import recurrent as short
from tests.support.links import check_link, npz_of

STATEFUL = [
    (lambda m: m.LSTM(5, 4), "f32[3,5]"),
    (lambda m: m.LSTM(None, 4), "f32[3,2,3]"),
    (lambda m: m.LSTM(4), "f32[3,5]"),
    (lambda m: m.LSTM(5, 4, 0.1, 0.2, 0.3, 0.4), "f32[3,5]"),
    (lambda m: m.GRU(5, 4), "f32[3,5]"),
    (lambda m: m.StatefulGRU(5, 4, 0.1, 0.2, 0.3), "f32[3,5]"),
    (lambda m: m.StatefulGRU(None, 4), "f32[3,5]"),
    (lambda m: m.StatefulPeepholeLSTM(5, 4), "f32[3,5]"),
    (lambda m: m.StatefulMGU(5, 4), "f32[3,5]"),
    (lambda m: m.StatefulPeepholeLSTM(None, 4), "f32[3,5]"),
    (lambda m: m.StatefulZoneoutLSTM(5, 4, 0.0, 0.0), "f32[3,5]"),
]
STATELESS = [
    (lambda m: m.StatelessLSTM(5, 4), ["f32[3,4]", "f32[3,4]", "f32[3,5]"]),
    (lambda m: m.StatelessLSTM(None, 4, 0.1, 0.2, 0.3, 0.4), ["f32[3,4]", "f32[3,4]", "f32[3,2,3]"]),
    (lambda m: m.StatelessLSTM(4), [None, None, "f32[3,5]"]),
    (lambda m: m.StatelessGRU(5, 4), ["f32[3,4]", "f32[3,5]"]),
    (lambda m: m.StatelessGRU(5, 4, 0.1, 0.2, 0.3), ["f32[3,4]", "f32[3,5]"]),
    (lambda m: m.StatelessMGU(5, 4), ["f32[3,4]", "f32[3,5]"]),
]


def _makes(make):
    """The name of the class that a function makes."""
    return next(name for name in make.__code__.co_names)


_SHORT = ("LSTM", "StatelessLSTM", "GRU", "StatefulGRU", "StatelessGRU")  # chainer2torch.native has these, too


@pytest.mark.parametrize("make,inputs", STATELESS)
def test_stateless(make, inputs):
    check_link(lambda: make(L), lambda: make(T), inputs)


@pytest.mark.parametrize("make,inputs", [case for case in STATELESS if _makes(case[0]) in _SHORT])
def test_short_stateless(make, inputs):
    check_link(lambda: make(L), lambda: make(short), inputs)


class LinkUnroll(chainer.Chain):
    """Four steps from a fresh state, a reset, and two more: gradients flow through the state."""

    def __init__(self, link):
        super().__init__()
        with self.init_scope():
            self.link = link

    def forward(self, x, *more):
        return _unroll(self.link, x, more)


class ModuleUnroll(torch.nn.Module):
    def __init__(self, link):
        super().__init__()
        self.link = link

    def forward(self, x, *more):
        return _unroll(self.link, x, more)


def _unroll(link, x, more):
    link.reset_state()
    ys = [link(x * (i + 1)) for i in range(4)]
    ys += [getattr(link, name) * 1 for name in ("c", "h") if hasattr(link, name)]
    if more:
        link.set_state(*more)
    else:
        link.reset_state()
    return [*ys, link(x), link(x)]


@pytest.mark.parametrize("make,spec", STATEFUL)
def test_stateful(make, spec):
    check_link(lambda: LinkUnroll(make(L)), lambda: ModuleUnroll(make(T)), [spec], steps=2)


@pytest.mark.parametrize("make,spec", [case for case in STATEFUL if _makes(case[0]) in _SHORT])
def test_short_stateful(make, spec):
    check_link(lambda: LinkUnroll(make(L)), lambda: ModuleUnroll(make(short)), [spec], steps=2)


@pytest.mark.parametrize("name", _SHORT)
def test_first_values_that_are_given(name):
    given = (0.1, 0.2, 0.3, 0.4) if "LSTM" in name else (0.1, 0.2, 0.3)
    link, module = getattr(L, name)(5, 4, *given), getattr(short, name)(5, 4, *given)
    theirs = {path[1:].replace("/", ".").replace(".W", ".weight"): p.array for path, p in link.namedparams()}
    ours = {path: p.detach().numpy() for path, p in module.named_parameters()}
    assert len(theirs) == len(ours)
    for path, array in ours.items():
        np.testing.assert_array_equal(array, theirs[path.removesuffix(".bias") + (".b" if "bias" in path else "")])


def test_each_class_is_its_own():
    """`isinstance(link, L.StatelessLSTM)` is False for an LSTM."""
    for a in _SHORT:
        for b in _SHORT:
            assert issubclass(getattr(short, a), getattr(short, b)) == issubclass(getattr(L, a), getattr(L, b)), (a, b)


@pytest.mark.parametrize(
    "make,states",
    [
        (lambda m: m.LSTM(5, 4), 2),
        (lambda m: m.StatefulGRU(5, 4), 1),
        (lambda m: m.StatefulMGU(5, 4), 1),
        (lambda m: m.StatefulZoneoutLSTM(5, 4, 0.0, 0.0), 2),
    ],
)
def test_set_state(make, states):
    inputs = ["f32[3,5]"] + ["f32[3,4]"] * states
    check_link(lambda: LinkUnroll(make(L)), lambda: ModuleUnroll(make(T)), inputs, steps=2)


def test_batches_that_shrink():
    def run(link, x):
        link.reset_state()
        ys = [link(x), link(x[:2]), link(x[:2]), link(x[:1]), link(x[:0])]
        return [*ys, link.c * 1, link.h * 1]

    class A(LinkUnroll):
        def forward(self, x):
            return run(self.link, x)

    class B(ModuleUnroll):
        def forward(self, x):
            return run(self.link, x)

    check_link(lambda: A(L.LSTM(5, 4)), lambda: B(T.LSTM(5, 4)), ["f32[3,5]"], steps=2)


def test_a_batch_that_grows_is_an_error():
    for link, x in ((L.LSTM(5, 4), np.zeros((3, 5), "f")), (T.LSTM(5, 4), torch.zeros(3, 5))):
        link(x[:2])
        with pytest.raises(TypeError):
            link(x)


def test_initial_values():
    link, module = L.LSTM(3, 4), T.LSTM(3, 4)
    np.testing.assert_array_equal(module.upward.bias.detach().numpy(), link.upward.b.array)
    assert module.upward.bias.tolist() == [0, 0, 1, 0] * 4
    kwargs = {
        "bias_init": np.arange(4.0).reshape(1, 4, 1),
        "forget_bias_init": 7,
        "lateral_init": np.arange(4.0),
        "upward_init": 2,
    }
    link, module = L.LSTM(3, 4, **kwargs), T.LSTM(3, 4, **kwargs)
    for name in ("upward", "lateral"):
        np.testing.assert_array_equal(getattr(module, name).weight.detach().numpy(), getattr(link, name).W.array)
    np.testing.assert_array_equal(module.upward.bias.detach().numpy(), link.upward.b.array)
    orthogonal = T.LSTM(6, 6, lateral_init=ti.Orthogonal(1.0)).lateral.weight.detach()
    for gate in orthogonal.split(6):
        torch.testing.assert_close(gate @ gate.T, torch.eye(6), rtol=1e-4, atol=1e-5)
    torch.manual_seed(0)
    big = T.LSTM(None, 200, upward_init=ti.GlorotNormal())
    big(torch.zeros(1, 100))
    assert float(big.upward.weight.std()) == pytest.approx((2 / 300) ** 0.5, rel=0.02)  # fan_out of one gate, not four
    assert T.StatefulGRU(3, 4).W_r.bias.tolist() == [0.0] * 4


def test_zoneout_at_random():
    torch.manual_seed(0)
    np.random.seed(0)
    link, module = L.StatefulZoneoutLSTM(5, 2000, 0.3, 0.6), T.StatefulZoneoutLSTM(5, 2000, 0.3, 0.6)
    load_npz(npz_of(link), module)
    x = np.random.randn(2, 5).astype("f")
    results = []
    for net, make in ((link, np.array), (module, torch.tensor)):
        net(make(x))
        c, h = net.c, net.h
        net(make(x))
        kept = [(new.data == old.data) for new, old in ((net.c, c), (net.h, h))]
        results.append([float(np.mean(np.asarray(k))) for k in kept])
    np.testing.assert_allclose(results[0], results[1], atol=0.03)
    np.testing.assert_allclose(results[1], [0.3, 0.6], atol=0.03)
    module.eval()
    module.reset_state()
    with chainer.using_config("train", False):
        link.reset_state()
        for _ in range(2):
            y, u = link(x), module(torch.tensor(x))
    np.testing.assert_allclose(u.detach().numpy(), y.array, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [make for make, _ in STATEFUL[:1] + STATEFUL[4:6] + STATEFUL[7:9]])
def test_truncated_backpropagation(make):
    link, module = make(L), make(T)
    load_npz(npz_of(link), module)
    xs = np.random.RandomState(0).randn(6, 3, 5).astype("f")
    for step in range(3):
        c_loss = sum(chainer.functions.sum(link(x) ** 2) for x in xs[2 * step : 2 * step + 2])
        t_loss = sum((module(torch.tensor(x)) ** 2).sum() for x in xs[2 * step : 2 * step + 2])
        link.cleargrads()
        module.zero_grad()
        c_loss.backward()
        t_loss.backward()
        c_loss.unchain_backward()
        unchain_backward(t_loss)
        np.testing.assert_allclose(t_loss.item(), c_loss.array, rtol=1e-4)
        grads = dict(link.namedparams())
        for name, p in module.named_parameters():
            key = "/" + name.replace(".weight", "/W").replace(".bias", "/b")
            np.testing.assert_allclose(p.grad.numpy(), grads[key].grad, rtol=1e-3, atol=1e-5)


def test_state_moves_copies_and_detaches():
    layer = T.LSTM(5, 4)
    layer(torch.randn(3, 5))
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other.c, layer.c) and other.c.grad_fn is None
        other.reset_state()
    assert layer.c.grad_fn is not None
    layer.double()
    assert layer.h.dtype == torch.float64
    layer.detach_state()
    assert layer.h.grad_fn is None and layer.c.grad_fn is None
    assert sorted(layer.state_dict()) == ["lateral.weight", "upward.bias", "upward.weight"]
    with pytest.raises(TypeError):
        T.GRU(5, 4)(torch.zeros(1, 4), torch.zeros(1, 5))
