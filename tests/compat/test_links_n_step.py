"""NStep links against Chainer: sequences of different lengths, several layers, both directions."""

import chainer
import numpy as np
import pytest
import torch
from chainer import links as L

from chainer2torch.compat.initializers import initializers as ti
from chainer2torch.compat.links import n_step_links
from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.native import n_step
from tests.support.links import check_link, npz_of

NAMES = [
    "NStepLSTM",
    "NStepBiLSTM",
    "NStepGRU",
    "NStepBiGRU",
    "NStepRNNTanh",
    "NStepBiRNNTanh",
    "NStepRNNReLU",
    "NStepBiRNNReLU",
]
XS = ["f32[3,4]", "f32[5,4]", "f32[1,4]", "f32[5,4]", "f32[2,4]"]


@pytest.fixture(params=[n_step_links, n_step], ids=["long", "short"])
def T(request):  # noqa: N802 - a module, as the F and L of Chainer's programs
    return request.param


def states(name, layers, batch, size):
    return [f"f32[{layers * (2 if 'Bi' in name else 1)},{batch},{size}]"] * (2 if "LSTM" in name else 1)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_given_states(name, layers, T):
    check_link(
        lambda: getattr(L, name)(layers, 4, 3, 0.0),
        lambda: getattr(T, name)(layers, 4, 3, 0.0),
        [*states(name, layers, 5, 3), XS],
        steps=1 if "ReLU" in name else 2,
    )  # ReLU soon explodes


@pytest.mark.parametrize("name", NAMES)
def test_no_states_and_initial_values(name, T):
    none = [None] * (2 if "LSTM" in name else 1)
    # dropout is off in test mode
    check_link(
        lambda: getattr(L, name)(2, 4, 3, 0.5), lambda: getattr(T, name)(2, 4, 3, 0.5), [*none, XS], modes=(False,)
    )
    link, module = (getattr(m, name)(2, 4, 3, 0.0, initialW=0.3, initial_bias=0.2) for m in (L, T))
    for p in module.parameters():
        assert p.unique().tolist() == pytest.approx([0.3 if p.dim() == 2 else 0.2])
    assert module.n_cells == link.n_cells and module.direction == link.direction
    assert all(p.abs().sum() == 0 for n, p in getattr(T, name)(1, 2, 2, 0).named_parameters() if "bias" in n)
    xs = [torch.zeros(2, 4)] * 5
    assert module.init_hx(xs).shape == link.init_hx([np.zeros((2, 4), "f")] * 5).shape


def test_initial_distribution_of_a_gate(T):
    torch.manual_seed(0)
    module = T.NStepLSTM(2, 100, 200, 0.0)
    assert float(getattr(module, "rnn", module).weight_ih_l0.std()) == pytest.approx(0.1, rel=0.02)
    assert float(getattr(module, "rnn", module).weight_ih_l1.std()) == pytest.approx(200**-0.5, rel=0.02)
    gates = T.NStepGRU(1, 6, 6, 0.0, initialW=ti.Orthogonal(1.0))
    gates = getattr(gates, "rnn", gates).weight_hh_l0.detach().split(6)
    for gate in gates:
        torch.testing.assert_close(gate @ gate.T, torch.eye(6), rtol=1e-4, atol=1e-5)


def test_dropout_acts_between_layers(T):
    # with a dropped input every gate of layer 1 sees its bias only: the share of such units is the ratio
    np.random.seed(0)
    torch.manual_seed(0)
    link, module = L.NStepRNNTanh(2, 4, 400, 0.3), T.NStepRNNTanh(2, 4, 400, 0.3)
    load_npz(npz_of(link), module)
    x = np.random.randn(1, 4).astype("f")
    samples = {"c": [], "t": []}
    for _ in range(200):
        samples["c"].append(link(None, [x])[1][0].array)
        samples["t"].append(module(None, [torch.tensor(x)])[1][0].detach().numpy())
    c, t = np.array(samples["c"]), np.array(samples["t"])
    np.testing.assert_allclose(t.std(0).mean(), c.std(0).mean(), rtol=0.05)
    np.testing.assert_allclose(t.mean(0), c.mean(0), atol=0.2)
    module.eval()
    torch.testing.assert_close(module(None, [torch.tensor(x)])[0], module(None, [torch.tensor(x)])[0])


def test_errors(T):
    for m, make in ((L, np.zeros), (T, torch.zeros)):
        with pytest.raises((AssertionError, RuntimeError)):
            m.NStepLSTM(1, 2, 2, 0.0)(None, None, make((3, 2)))
        with pytest.raises(TypeError):
            m.NStepLSTM(1, 2, 2, 0.0, use_cudnn=True) if m is T else m.NStepLSTM(1, 2, 2, 0.0, nothing=True)
    with pytest.raises((RuntimeError, ValueError)):
        T.NStepGRU(1, 2, 2, 0.0)(None, [torch.zeros(3, 5)])
    with pytest.raises(chainer.utils.type_check.InvalidType):
        L.NStepGRU(1, 2, 2, 0.0)(None, [np.zeros((3, 5), "f")])


def _changed(make, ones):
    link = make(2, 4, 3, 0.0)
    for layer in link:
        layer.b1.data[:] = 1.0
        layer.b3.data = ones(3) * 2
        layer.w2.data *= 3
    link[1].w0.data[...] = 0.5
    return link, layer


@pytest.mark.parametrize("name", ["NStepLSTM", "NStepBiLSTM"])
def test_layers_one_by_one(name, T):
    link, _ = _changed(getattr(L, name), lambda n: np.ones(n, "f"))
    module, _ = _changed(getattr(T, name), torch.ones)
    fresh = getattr(T, name)(2, 4, 3, 0.0)
    load_npz(npz_of(link), fresh)
    assert len(list(link)) == len(list(module)) == module.n_layers * module.direction
    for i, layer in enumerate(link):
        for key in ("b1", "b3"):
            np.testing.assert_array_equal(getattr(layer, key).array, getattr(module[i], key).detach().numpy())
        assert np.ptp(link[1].w0.array) == 0 == np.ptp(module[1].w0.detach().numpy())
        np.testing.assert_array_equal(fresh[i].w2.detach().numpy(), layer.w2.array)


def test_a_layer_has_the_gradient_of_its_rows(T):
    module = T.NStepLSTM(1, 4, 3, 0.0)
    assert module[0].w1.grad is None
    _, _, ys = module(None, None, [torch.ones(2, 4)])
    (ys[0].sum() + 2 * module[0].w1.sum()).backward()
    assert module[0].w1.grad.shape == (3, 4)
    whole = module.rnn if hasattr(module, "rnn") else module
    torch.testing.assert_close(module[0].w1.grad, whole.weight_ih_l0.grad[3:6])
    with pytest.raises(IndexError):
        module[1]
