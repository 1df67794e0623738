"""Chainer's initializers and the initial values of torch's own layers, against Chainer."""

import copy
import pickle

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import initializers as ci
from chainer import links as L

from chainer2torch.compat.initializers import initializers as ti
from tests.compat.test_borders_of_links import ROOMS
from tests.support.links import arrays_of
from chainer2torch.compat.initializers.layer_init import init_like_chainer, initialize

RANDOM = [
    ("Normal", {}),
    ("Normal", {"scale": 2.0}),
    ("LeCunNormal", {}),
    ("LeCunNormal", {"scale": 0.5}),
    ("GlorotNormal", {}),
    ("HeNormal", {}),
    ("HeNormal", {"fan_option": "fan_out", "scale": 3.0}),
    ("Uniform", {}),
    ("LeCunUniform", {}),
    ("GlorotUniform", {"scale": 2.0}),
    ("HeUniform", {}),
]
SHAPES = [(7, 5), (6, 4, 3, 2), (4, 9, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name,options", RANDOM + [("Orthogonal", {}), ("Orthogonal", {"mode": "auto", "scale": 1.0})])
def test_with_rng_the_numbers_are_chainers(name, options, dtype, shape):
    expected = np.empty(shape, dtype)
    getattr(ci, name)(rng=np.random.RandomState(0), dtype=np.dtype(dtype), **options)(expected)
    actual = torch.empty(shape, dtype=getattr(torch, dtype))
    getattr(ti, name)(rng=np.random.RandomState(0), dtype=np.dtype(dtype), **options)(actual)
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name,options", RANDOM)
def test_moments_over_a_large_tensor(name, options):
    shape = (300, 40, 5, 5)
    expected, actual = np.empty(shape, "f"), torch.empty(shape)
    np.random.seed(0)
    torch.manual_seed(0)
    getattr(ci, name)(**options)(expected)
    getattr(ti, name)(**options)(actual)
    spread = expected.std()
    assert abs(float(actual.mean())) < 0.01 * spread
    assert float(actual.std()) == pytest.approx(spread, rel=0.01)
    # normal and uniform differ in the fourth moment
    assert float((actual / spread).pow(4).mean()) == pytest.approx(((expected / spread) ** 4).mean(), rel=0.03)


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4), (3, 2, 2), ()])
def test_orthogonal(shape):
    torch.manual_seed(0)
    t = torch.empty(shape, dtype=torch.float64)
    ti.Orthogonal(scale=2.0)(t)
    if not shape:
        assert abs(t.item()) == 2.0
        return
    m = t.reshape(shape[0], -1)
    gram = m @ m.T if m.shape[0] <= m.shape[1] else m.T @ m
    torch.testing.assert_close(gram, 4 * torch.eye(len(gram), dtype=torch.float64))


@pytest.mark.parametrize(
    "mode,shape", [("projection", (5, 3)), ("embedding", (3, 5)), ("basis", (3, 5)), ("basis", (5, 3))]
)
def test_orthogonal_errors(mode, shape):
    for fill, empty in ((ci.Orthogonal(mode=mode), np.empty), (ti.Orthogonal(mode=mode), torch.empty)):
        with pytest.raises(ValueError):
            fill(empty(shape))
    with pytest.raises(ValueError):
        ti.Orthogonal(mode="nothing")


@pytest.mark.parametrize(
    "make,shape",
    [
        (lambda m: m.Constant(3.5), (2, 3)),
        (lambda m: m.Constant(np.arange(3)), (2, 3)),
        (lambda m: m.Zero(), (3,)),
        (lambda m: m.One(), (3, 1)),
        (lambda m: m.NaN(), (2,)),
        (lambda m: m.Identity(), (4, 4)),
        (lambda m: m.Identity(scale=0.3), (4, 4)),
        (lambda m: m.Constant(np.arange(3.0)[::-1]), (3,)),
        (lambda m: m.UpsamplingDeconvFilter(), (3, 3, 4, 4)),
        (lambda m: m.UpsamplingDeconvFilter(), (3, 1, 3)),
        (lambda m: m.DownsamplingConvFilter(), (2, 2, 3, 3, 3)),
        (lambda m: m.DownsamplingConvFilter("linear"), (2, 1, 4, 4)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exact_values(make, shape, dtype):
    expected, actual = np.empty(shape, dtype), torch.empty(shape, dtype=getattr(torch, dtype))
    make(ci)(expected)
    make(ti)(actual)
    np.testing.assert_array_equal(actual.numpy(), expected)


@pytest.mark.parametrize(
    "make,shape,error",
    [
        (lambda m: m.Identity(), (2, 3), ValueError),
        (lambda m: m.LeCunNormal(), (3,), ValueError),
        (lambda m: m.HeNormal(fan_option="x"), (3, 3), ValueError),
        (lambda m: m.UpsamplingDeconvFilter(), (2, 2, 3, 4), ValueError),
        (lambda m: m.UpsamplingDeconvFilter(), (4, 2, 3, 3), AssertionError),
        (lambda m: m.Normal(dtype=np.float32), (3, 3), AssertionError),
        (lambda m: m.Zero(dtype=np.float32), (3, 3), AssertionError),
        (lambda m: m.Constant(np.zeros(4)), (3, 3), (ValueError, RuntimeError)),
    ],
)
def test_errors_are_errors_in_both(make, shape, error):
    with pytest.raises(error):
        make(ci)(np.empty(shape))
    with pytest.raises(error):
        make(ti)(torch.empty(shape, dtype=torch.float64))


def test_generate_array():
    a = ti.generate_array(ti.Constant(2, dtype=np.float64), (2, 3), np)
    assert a.dtype == torch.float64 and a.tolist() == [[2.0] * 3] * 2
    assert ti.generate_array(ti.Zero(), 4, np).shape == (4,)
    with pytest.raises(ValueError):
        ti.generate_array(ti.Constant(2, dtype=np.float64), (2, 3), np, dtype=np.float32)
    with pytest.raises(ValueError):
        ci.generate_array(ci.Constant(2, dtype=np.float64), (2, 3), np, dtype=np.float32)


LAYERS = [
    (lambda: L.Linear(400, 300), lambda: nn.Linear(400, 300), None),
    (lambda: L.Linear(None, 300), lambda: nn.LazyLinear(300), (1, 400)),
    (lambda: L.Linear(400, 300, nobias=True), lambda: nn.Linear(400, 300, bias=False), None),
    (lambda: L.Convolution2D(40, 60, 5), lambda: nn.Conv2d(40, 60, 5), None),
    (lambda: L.Convolution2D(40, 60, 5, groups=4), lambda: nn.Conv2d(40, 60, 5, groups=4), None),
    (lambda: L.Convolution2D(None, 60, 5), lambda: nn.LazyConv2d(60, 5), (1, 40, 5, 5)),
    (lambda: L.Convolution1D(100, 60, 9), lambda: nn.Conv1d(100, 60, 9), None),
    (lambda: L.Deconvolution2D(40, 60, 5), lambda: nn.ConvTranspose2d(40, 60, 5), None),
    (lambda: L.Deconvolution2D(None, 60, 5), lambda: nn.LazyConvTranspose2d(60, 5), (1, 40, 5, 5)),
    (lambda: L.Deconvolution3D(20, 10, 5), lambda: nn.ConvTranspose3d(20, 10, 5), None),
    (lambda: L.EmbedID(300, 200), lambda: nn.Embedding(300, 200), None),
]


class Holder(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        init_like_chainer(self)


@pytest.mark.parametrize("link,layer,shape", LAYERS)
def test_layers_start_from_chainers_distribution(link, layer, shape):
    np.random.seed(0)
    torch.manual_seed(0)
    link, layer = link(), Holder(layer()).layer
    if shape is not None:
        link(np.ones(shape, "f"))
        layer(torch.ones(shape))
    expected, actual = link.W.array, layer.weight.detach()
    assert actual.shape == expected.shape
    assert float(actual.std()) == pytest.approx(expected.std(), rel=0.03)
    assert abs(float(actual.mean())) < 0.02 * expected.std()
    assert float((actual / expected.std()).pow(4).mean()) == pytest.approx(3.0, rel=0.1)  # normal, not uniform
    if getattr(link, "b", None) is not None:
        np.testing.assert_array_equal(layer.bias.detach().numpy(), link.b.array)
    else:
        assert getattr(layer, "bias", None) is None


def test_a_layer_is_filled_once():
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 4)
            init_like_chainer(self)

    class Derived(Base):
        def __init__(self):
            super().__init__()
            self.kept = self.a.weight.detach().clone()
            self.b = nn.LazyLinear(5)
            self.c = initialize(nn.Linear(2, 2), W=7, b=8)
            self.blocks = nn.ModuleList([nn.Linear(3, 3)])
            init_like_chainer(self)

    m = Derived()
    assert torch.equal(m.a.weight, m.kept)
    assert m.c.weight.unique().tolist() == [7] and m.c.bias.unique().tolist() == [8]
    assert m.blocks[0].bias.abs().sum() == 0
    m.b(torch.zeros(1, 6))
    assert m.b.bias.abs().sum() == 0


def test_loaded_lazy_weights_survive_the_first_forward():
    source = Holder(nn.LazyLinear(4))
    source.layer(torch.ones(1, 3))
    target = Holder(nn.LazyLinear(4))
    target.load_state_dict(source.state_dict())
    target.layer(torch.ones(1, 3))
    assert torch.equal(source.layer.weight, target.layer.weight)


def test_copies_and_pickles_of_a_lazy_layer_are_filled_themselves():
    original = Holder(nn.LazyLinear(4))
    initialize(original.layer, b=3)
    for other in (copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert other.layer(torch.zeros(1, 3)).tolist() == [[3.0] * 4]
    assert isinstance(original.layer.weight, nn.UninitializedParameter)  # filling the copies has not filled this one


@pytest.mark.parametrize("value", [2, 0.5, np.float32(3), np.arange(12.0).reshape(4, 3), torch.ones(4, 3), ti.One()])
def test_initialize_takes_what_initialW_takes(value):
    layer = initialize(nn.Linear(3, 4), W=value, b=np.arange(4))
    if not isinstance(value, (torch.Tensor, ti.Initializer)):
        link = L.Linear(3, 4, initialW=value, initial_bias=np.arange(4))
        np.testing.assert_array_equal(layer.weight.detach().numpy(), link.W.array)
        np.testing.assert_array_equal(layer.bias.detach().numpy(), link.b.array)
        assert layer.weight.dtype == torch.float32
    else:
        assert layer.weight.unique().tolist() == [1]


def test_initialize_dtype_and_errors():
    assert initialize(nn.Linear(3, 4), W=ti.HeNormal(dtype=np.float64)).weight.dtype == torch.float64
    assert L.Linear(3, 4, initialW=ci.HeNormal(dtype=np.float64)).W.dtype == np.float64
    with pytest.raises(TypeError):
        initialize(nn.ReLU())
    with pytest.raises(TypeError):
        initialize(nn.Linear(3, 4), W=[1, 2])
    with pytest.raises(TypeError):
        L.Linear(3, 4, initialW=[1, 2])
    norm = initialize(nn.BatchNorm2d(3), W=2, b=np.arange(3))
    assert norm.weight.tolist() == [2, 2, 2] and norm.bias.tolist() == [0, 1, 2]


def test_every_initializer_of_chainer_is_here():
    names = [n for n in dir(ci) if isinstance(getattr(ci, n), type) and issubclass(getattr(ci, n), chainer.Initializer)]
    assert len(names) == 16
    assert [n for n in names if not hasattr(ti, n)] == []


OF_LINKS = [
    ("Linear", (3, 4), "initialW", "W"),
    ("Linear", (3, 4), "initial_bias", "b"),
    ("Convolution2D", (3, 4, 2), "initialW", "W"),
    ("Deconvolution2D", (3, 4, 2), "initial_bias", "b"),
    ("EmbedID", (3, 4), "initialW", "W"),
    ("PReLU", ((4,),), "init", "W"),
    ("LayerNormalization", (4,), "initial_gamma", "gamma"),
    ("GroupNormalization", (2, 4), "initial_gamma", "gamma"),
    ("GroupNormalization", (2, 4), "initial_beta", "beta"),
    ("BatchNormalization", (4,), "initial_gamma", "gamma"),
    ("BatchNormalization", (4,), "initial_beta", "beta"),
]


@pytest.mark.parametrize(("name", "args", "option", "param"), OF_LINKS, ids=lambda value: str(value))
def test_dtypes_that_initializers_say(name, args, option, param):
    """Its own, whatever says it, but in normalizations of batches and groups, which have the default dtype."""
    ours = next(getattr(room, name) for room in ROOMS if hasattr(room, name))
    for dtype in (None, "d", np.float16, np.dtype("f")):

        def fill(array):
            array[...] = 2

        fill.dtype = dtype
        for theirs_first, first in ((ci.Constant(2, dtype=dtype), ti.Constant(2, dtype=dtype)), (fill, fill)):
            fill.dtype = dtype  # Chainer has changed it where the link has a dtype of its own
            expected = getattr(getattr(L, name)(*args, **{option: theirs_first}), param).array
            fill.dtype = dtype
            found = arrays_of(ours(*args, **{option: first}))[param]
            assert found.dtype == expected.dtype and np.array_equal(found, expected), (dtype, first)


@pytest.mark.parametrize("given", [0.5, np.arange(15, dtype="f").reshape(3, 5), ti.One(), ti.Constant(2)])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_init_weight_of_version_1_scales_what_it_fills(given, scale):
    weights = torch.full((3, 5), torch.nan)
    ti.init_weight(weights, given, scale)
    expected = np.empty((3, 5), "f")
    ti.as_initializer(given)(torch.from_numpy(expected))
    np.testing.assert_array_equal(weights.numpy(), expected * scale)


def test_init_weight_draws_by_the_number_of_inputs_if_nothing_is_given():
    """Version 1 took HeNormal(1 / sqrt(2)): the standard deviation is 1 / sqrt(fan_in)."""
    weights = nn.Parameter(torch.full((300, 400), torch.nan))
    ti.init_weight(weights, None, 2.0)
    assert abs(weights.std().item() * 20 / 2 - 1) < 0.01 and weights.requires_grad
