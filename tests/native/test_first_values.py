"""First values: the distribution of every layer's parameters beside Chainer's; nn.init beside initializers."""

import functools
import copy
import io
import math

import chainer
import chainer.initializers as I
import chainer.links as L
import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from chainer2torch.compat.links import link_tree
from chainer2torch.native.layers import BatchNorm
from chainer2torch.native.first_values import filled, initialize_parameter, initialized, parameter

WB = {"W": "weight", "b": "bias"}
# Chainer's link, torch's layer, and which parameters are each other's
LAYERS = {
    "linear": (lambda: L.Linear(40, 50), lambda: nn.Linear(40, 50), WB),
    "lazy linear": (lambda: L.Linear(None, 50), lambda: nn.LazyLinear(50), WB),
    "conv1d": (lambda: L.Convolution1D(8, 20, 5), lambda: nn.Conv1d(8, 20, 5), WB),
    "conv2d": (lambda: L.Convolution2D(8, 20, 3), lambda: nn.Conv2d(8, 20, 3), WB),
    "grouped": (
        lambda: L.Convolution2D(8, 20, 3, groups=4),
        lambda: nn.Conv2d(8, 20, 3, groups=4),
        WB,
    ),
    "lazy conv2d": (lambda: L.Convolution2D(None, 20, 3), lambda: nn.LazyConv2d(20, 3), WB),
    "conv3d": (lambda: L.Convolution3D(4, 9, 3), lambda: nn.Conv3d(4, 9, 3), WB),
    "deconv2d": (
        lambda: L.Deconvolution2D(8, 20, 3),
        lambda: nn.ConvTranspose2d(8, 20, 3),
        WB,
    ),
    "grouped deconv": (
        lambda: L.Deconvolution2D(8, 20, 3, groups=4),
        lambda: nn.ConvTranspose2d(8, 20, 3, groups=4),
        WB,
    ),
    "deconv1d": (lambda: L.Deconvolution1D(8, 20, 4), lambda: nn.ConvTranspose1d(8, 20, 4), WB),
    "deconv3d": (lambda: L.Deconvolution3D(4, 9, 3), lambda: nn.ConvTranspose3d(4, 9, 3), WB),
    "bilinear": (
        lambda: L.Bilinear(7, 11, 13, nobias=True),
        lambda: nn.Bilinear(7, 11, 13, bias=False),
        {"W": "weight"},
    ),
    "embedding": (lambda: L.EmbedID(40, 50), lambda: nn.Embedding(40, 50), {"W": "weight"}),
    "batch norm": (lambda: L.BatchNormalization(9), lambda: nn.BatchNorm2d(9), {"gamma": "weight", "beta": "bias"}),
    "layer norm": (lambda: L.LayerNormalization(9), lambda: nn.LayerNorm(9), {"gamma": "weight", "beta": "bias"}),
    "group norm": (
        lambda: _called(L.GroupNormalization(3, 9), (2, 9, 4)),
        lambda: nn.GroupNorm(3, 9),
        {"gamma": "weight", "beta": "bias"},
    ),
    "prelu": (lambda: L.PReLU((9,)), lambda: nn.PReLU(9), {"W": "weight"}),
    "lstm cell": (
        lambda: L.StatelessLSTM(30, 20),
        lambda: nn.LSTMCell(30, 20),
        {"upward/W": "weight_ih", "lateral/W": "weight_hh", "upward/b": "bias_ih"},
    ),
    "gru cell": (
        lambda: L.StatelessGRU(30, 40),
        lambda: nn.GRUCell(30, 40),
        {"W_r/W": "weight_ih", "U_r/W": "weight_hh", "W_r/b": "bias_ih", "U_r/b": "bias_hh"},
    ),
    "lstm": (
        lambda: L.NStepLSTM(2, 30, 20, 0.0),
        lambda: nn.LSTM(30, 20, 2),
        {"0/w0": "weight_ih_l0", "0/w4": "weight_hh_l0", "1/w0": "weight_ih_l1", "1/b5": "bias_hh_l1"},
    ),
    "gru": (lambda: L.NStepGRU(1, 30, 20, 0.0), lambda: nn.GRU(30, 20), {"0/w0": "weight_ih_l0", "0/b3": "bias_hh_l0"}),
    "rnn": (
        lambda: L.NStepRNNTanh(1, 30, 20, 0.0),
        lambda: nn.RNN(30, 20),
        {"0/w0": "weight_ih_l0", "0/w1": "weight_hh_l0", "0/b0": "bias_ih_l0"},
    ),
}  # fmt: skip
INPUTS = {"lazy linear": (2, 40), "lazy conv2d": (2, 8, 6, 6)}
DRAWS = 5


def _called(link, shape):
    link(np.ones(shape, "f"))
    return link


def distributed_equally(theirs, ours):
    """Mean, deviation and the whole distribution (Kolmogorov-Smirnov); constants exactly."""
    theirs, ours = np.asarray(theirs, "f8").ravel(), np.asarray(ours, "f8").ravel()
    if theirs.std() == 0 or set(np.unique(theirs)) <= {0.0, 1.0}:
        assert sorted(set(theirs)) == sorted(set(ours))
        assert theirs.mean() == pytest.approx(ours.mean())
        return
    size = min(len(theirs), len(ours))
    assert abs(theirs.mean() - ours.mean()) < 4 * theirs.std() * math.sqrt(2 / size)
    assert ours.std() / theirs.std() == pytest.approx(1, abs=4 / math.sqrt(size))
    assert stats.ks_2samp(theirs, ours).pvalue > 1e-3


@pytest.mark.parametrize("name", LAYERS)
def test_layers_begin_as_chainers(name):
    make_theirs, make_ours, pairs = LAYERS[name]
    np.random.seed(0)
    torch.manual_seed(0)
    drawn = {key: ([], []) for key in pairs}
    for _ in range(DRAWS):
        theirs, ours = make_theirs(), nn.Sequential(initialized(make_ours()))
        if name in INPUTS:
            theirs(np.ones(INPUTS[name], "f"))
            ours(torch.ones(INPUTS[name]))
        params = {path[1:]: param.array for path, param in theirs.namedparams()}
        for key, other in pairs.items():
            drawn[key][0].append(params[key].ravel())
            drawn[key][1].append(getattr(ours[0], other).detach().numpy().ravel())
    for left, right in drawn.values():
        distributed_equally(np.concatenate(left), np.concatenate(right))


def test_torchs_own_first_values_are_not_chainers():
    """The reason for the helper, and the proof that the comparison can fail."""
    np.random.seed(0)
    torch.manual_seed(0)
    for name in ("linear", "conv2d", "deconv2d", "bilinear", "lstm", "lstm cell"):
        make_theirs, make_ours, pairs = LAYERS[name]
        params = {path[1:]: param.array for path, param in make_theirs().namedparams()}
        key, other = next(iter(pairs.items()))
        with pytest.raises(AssertionError):
            distributed_equally(params[key], getattr(make_ours(), other).detach().numpy())


def test_forget_gate_of_a_cell_begins_at_one():
    theirs, ours = L.StatelessLSTM(3, 4), initialized(nn.LSTMCell(3, 4))
    gates = theirs.upward.b.array.reshape(4, 4).T  # a, i, f, o: interleaved in Chainer
    expected = np.concatenate([gates[1], gates[2], gates[0], gates[3]])
    np.testing.assert_array_equal((ours.bias_ih + ours.bias_hh).detach().numpy(), expected)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        first = initialized(nn.LazyLinear(5))
        last = initialized(nn.Linear(5, 3))
        self.layers = nn.ModuleList([nn.Sequential(first, nn.ReLU()), nn.ModuleDict({"a": last})])

    def forward(self, x):
        return self.layers[1]["a"](self.layers[0](x))


def test_lazy_layers_keep_loaded_weights_and_can_be_copied_and_saved():
    torch.manual_seed(0)
    first, net = Net(), Net()
    first(torch.ones(2, 4))
    assert "reset_parameters" not in vars(first.layers[0][0])
    twin = copy.deepcopy(net)
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    net.load_state_dict(first.state_dict())
    net(torch.ones(2, 4))
    assert torch.equal(net.layers[0][0].weight, first.layers[0][0].weight), "the first forward keeps loaded values"
    for other in (twin, loaded):
        other(torch.ones(2, 1000))
        assert other.layers[0][0].weight.std().item() == pytest.approx(1000**-0.5, rel=0.1)
        assert (other.layers[0][0].bias == 0).all()
    assert net.layers[0][0].weight.shape == (5, 4)


INITIALIZERS = {
    "Normal": (I.Normal(), lambda w: nn.init.normal_(w, std=0.05)),
    "Normal(0.2)": (I.Normal(0.2), lambda w: nn.init.normal_(w, std=0.2)),
    "LeCunNormal": (I.LeCunNormal(), lambda w: nn.init.kaiming_normal_(w, nonlinearity="linear")),
    "LeCunNormal(2)": (I.LeCunNormal(2.0), lambda w: nn.init.normal_(w, std=2.0 * w[0].numel() ** -0.5)),
    "GlorotNormal": (I.GlorotNormal(), nn.init.xavier_normal_),
    "GlorotNormal(2)": (I.GlorotNormal(2.0), lambda w: nn.init.xavier_normal_(w, gain=2.0)),
    "HeNormal": (I.HeNormal(), lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu")),
    "HeNormal fan_out": (
        I.HeNormal(fan_option="fan_out"),
        lambda w: nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
    ),
    "HeNormal(0.7)": (I.HeNormal(1 / math.sqrt(2)), lambda w: nn.init.kaiming_normal_(w, nonlinearity="linear")),
    "Uniform": (I.Uniform(), lambda w: nn.init.uniform_(w, -0.05, 0.05)),
    "Uniform(0.3)": (I.Uniform(0.3), lambda w: nn.init.uniform_(w, -0.3, 0.3)),
    "LeCunUniform": (I.LeCunUniform(), lambda w: nn.init.kaiming_uniform_(w, nonlinearity="linear")),
    "GlorotUniform": (I.GlorotUniform(), nn.init.xavier_uniform_),
    "GlorotUniform(2)": (I.GlorotUniform(2.0), lambda w: nn.init.xavier_uniform_(w, gain=2.0)),
    "HeUniform": (I.HeUniform(), lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu")),
    "Zero": (I.Zero(), nn.init.zeros_),
    "One": (I.One(), nn.init.ones_),
    "Constant(0.5)": (I.Constant(0.5), lambda w: nn.init.constant_(w, 0.5)),
}


@pytest.mark.parametrize("shape", [(60, 40), (30, 20, 3, 3), (16, 8, 5)])
@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers_are_nn_init(name, shape):
    """On weights of any rank: fan_in is shape[1] * receptive field on both sides, for transposed convolutions too."""
    theirs, ours = INITIALIZERS[name]
    np.random.seed(1)
    torch.manual_seed(1)
    array, tensor = np.empty(shape, "f"), torch.empty(shape)
    theirs(array)
    ours(tensor)
    distributed_equally(array, tensor.numpy())


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (6, 2, 2), (2, 3, 2, 2)])
def test_orthogonal(shape):
    """Rows or columns are orthogonal with Chainer's scale, 1.1 by default; entries have the same moments."""
    np.random.seed(0)
    torch.manual_seed(0)
    theirs, ours = [], []
    for _ in range(800):
        array = np.empty(shape, "f8")
        try:
            I.Orthogonal(mode="projection" if shape[0] < np.prod(shape[1:]) else "auto")(array)
        except ValueError:
            pytest.fail("Chainer refuses this shape")
        theirs.append(array)
        ours.append(nn.init.orthogonal_(torch.empty(shape, dtype=torch.float64), gain=1.1).numpy())
    for drawn in (theirs, ours):
        flat = drawn[0].reshape(shape[0], -1)
        gram = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
        np.testing.assert_allclose(gram, 1.21 * np.eye(len(gram)), atol=1e-6)
    theirs, ours = np.stack(theirs), np.stack(ours)
    np.testing.assert_allclose(theirs.std(), ours.std(), rtol=0.01)


def test_identity():
    array = np.empty((3, 3), "f")
    I.Identity(2.0)(array)
    np.testing.assert_array_equal(nn.init.eye_(torch.empty(3, 3)).mul_(2.0).numpy(), array)


def test_dropped_scales_of_uniform_kinds():
    """HeUniform and LeCunUniform with a scale have no argument in nn.init: uniform_ with the bound."""
    for theirs, factor in ((I.LeCunUniform(2.0), 3.0), (I.HeUniform(2.0), 6.0)):
        np.random.seed(0)
        torch.manual_seed(0)
        array, w = np.empty((60, 40), "f"), torch.empty(60, 40)
        theirs(array)
        bound = 2.0 * math.sqrt(factor / w[0].numel())
        nn.init.uniform_(w, -bound, bound)
        distributed_equally(array, w.numpy())


def test_depthwise_convolution_needs_its_own_line():
    """Chainer's fan_in counts all input channels, torch's grouped weight shows one: std is given by hand."""
    np.random.seed(0)
    torch.manual_seed(0)
    theirs = L.DepthwiseConvolution2D(8, 6, 3)
    ours = nn.Conv2d(8, 48, 3, groups=8)
    nn.init.normal_(ours.weight, std=(8 * 9) ** -0.5)
    distributed_equally(theirs.W.array, ours.weight.detach().numpy())
    with pytest.raises(AssertionError):
        distributed_equally(theirs.W.array, initialized(ours).weight.detach().numpy())


def test_compiles_and_exports():
    net = Net()
    net(torch.ones(2, 4))
    torch.export.export(net, (torch.ones(2, 4),))
    torch.fx.symbolic_trace(net)
    assert chainer.__version__.startswith("7.")


def test_parameters_are_filled_as_chainers_when_they_are_made_and_when_they_get_a_shape():
    for values in (None, 0.5, np.arange(3, dtype="f"), chainer.initializers.One()):
        ours = torch.nn.init.ones_ if callable(values) else values
        made, waiting = (
            parameter(ours, (2, 3)),
            parameter(0 if values is None else ours, None),
        )
        np.testing.assert_array_equal(made.detach(), chainer.Parameter(values, (2, 3)).array)
        assert made.dtype == torch.float32 and made.requires_grad
        if not isinstance(values, np.ndarray):  # an array is the parameter
            assert torch.nn.parameter.is_lazy(waiting)
            initialize_parameter(waiting, (2, 3))
        theirs = chainer.Parameter(0 if values is None else values)
        if theirs.array is None:
            theirs.initialize((2, 3))
        np.testing.assert_array_equal(waiting.detach(), theirs.array)
        assert waiting.requires_grad and isinstance(waiting, torch.nn.Parameter)
    with pytest.raises(AttributeError):  # one of a lazy layer
        initialize_parameter(torch.nn.LazyLinear(3).weight, (3, 2))


def test_a_parameter_of_ones_own_is_filled_anew_in_a_copy():
    module = torch.nn.Module()
    module.scale = parameter(functools.partial(torch.nn.init.normal_, std=2), 5)
    copied = link_tree.copy_link(module, "init")
    assert not torch.equal(copied.scale, module.scale)


def test_values_of_a_layer_that_begins_as_in_chainer():
    values = np.arange(6.0).reshape(3, 2)
    embedding = filled(nn.Embedding(3, 2), weight=values)
    np.testing.assert_array_equal(embedding.weight.detach(), L.EmbedID(3, 2, initialW=values).W.array)
    assert embedding.weight.requires_grad and embedding.weight.dtype == torch.float32
    norm = filled(nn.BatchNorm1d(2, bias=False), weight=nn.init.zeros_, bias=3, running_var=0)
    assert norm.bias is None and not norm.weight.any() and not norm.running_var.any()
    before = embedding.weight.detach().clone()
    assert torch.equal(filled(embedding, weight=None).weight, before)
    bare = BatchNorm(2, weight=False)
    assert filled(bare, weight=5, bias=2).weight.eq(1).all() and bare.bias.eq(2).all()
