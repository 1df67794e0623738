"""Calls of short helpers that larger programs seldom make: axes of NumPy's methods, layers below those of a program."""

import itertools

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
from pytorch_pfn_extras.training import triggers as pfe_triggers
from torch import nn
from torch.nn.parameter import is_lazy

from chainer2torch.compat.functions import own_functions as long_functions
from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.native import (
    array_module,
    arrays,
    devices,
    first_values,
    functions,
    link_attributes,
    link_layers,
    own_functions,
    triggers,
)

from tests.support.links import npz_of


def a(*shape, seed=0, dtype="f"):
    return np.random.RandomState(seed + len(shape)).uniform(-1, 1, shape).astype(dtype)


def outcome(function, *args):
    """What a call gives, as an array; None where it raises."""
    try:
        found = function(*args)
    except Exception:
        return None
    return np.asarray(found)


AXES = [(), (None,), (0,), (0, 1), (1, 0), ((1, 0),), ([1, 0],), (2, 0, 1), ((2, 0, 1),), (0, -1, 1), (-1, -2), (0, 0)]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4)], ids=str)
def test_axes_of_transposed(shape):
    x = a(*shape)
    for axes in AXES:
        expected = outcome(x.transpose, *axes)
        for value in (x, torch.tensor(x)):
            found = outcome(arrays.transposed, value, *axes)
            assert (expected is None) == (found is None), axes
            assert expected is None or np.array_equal(expected, found), axes


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4)], ids=str)
def test_places_that_are_taken(shape):
    x = a(*shape)
    for places, axis in itertools.product((0, [1, 0], [[0, 1], [1, 1]], -1), (None, *range(-len(shape), len(shape)))):
        found = arrays.numpy_methods(torch.tensor(x)).take(places, axis)
        assert np.array_equal(found, x.take(places, axis)), (places, axis)
    assert np.array_equal(arrays.numpy_methods(torch.tensor(x)).take([1, 0]), x.take([1, 0]))


def test_products_of_vectors_and_matrices():
    values = [a(3), a(3, 3), a(2, 3), a(2, 2, 3), a(3, dtype="d"), np.arange(3)]
    for x, y in itertools.product(values, repeat=2):
        expected = outcome(np.dot, x, y) if y.ndim < 3 else None
        found = outcome(devices.dot, torch.tensor(x), torch.tensor(y))
        assert (expected is None) == (found is None), (x.shape, y.shape)
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"where": np.array([True, False, True])}], ids=["all", "where"])
def test_results_that_are_written_into_tensors(options):
    """As on a GPU, where what NumPy writes into is a copy."""
    x, y = np.array([7.5, -7.5, 2.25]), np.array([2.0, 2.0, -0.5])
    for function, args in ((np.add, (x, y)), (np.modf, (x,)), (np.divmod, (x, y)), (np.negative, (x,))):
        for by_name, as_tuple in ((True, True), (True, False), (False, False)):
            if not as_tuple and by_name and function.nout > 1:
                continue
            theirs = [np.full(3, 9.0) for _ in range(function.nout)]
            ours = [torch.full((3,), 9.0, dtype=torch.float64) for _ in range(function.nout)]
            found = []
            for out, call in (
                (theirs, function),
                (ours, lambda *args, **named: array_module._writing(function, *args, device="cpu", **named)),  # noqa: B023
            ):
                given = tuple(out) if as_tuple else out[0]
                found.append(call(*args, out=given, **options) if by_name else call(*args, *out, **options))
            for there, here in zip(theirs, ours):
                np.testing.assert_array_equal(here, there)
            if function.nout == 1:
                assert found[1] is ours[0]
            else:
                assert isinstance(found[1], tuple) and all(one is other for one, other in zip(found[1], ours))
    x, y = torch.zeros(3), np.arange(3.0)
    assert array_module._writing(np.copyto, x, y, device="cpu") is None and x.tolist() == [0, 1, 2]


def noting(base):
    """A class below that notes for which size it makes what depends on it."""

    class Noting(base):
        def _initialize_params(self, size):
            base._initialize_params(self, size)
            self.made = size, is_lazy(self.weight)

    return Noting


@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [("Convolution2D", (4, 3), (2, 5, 6, 6)), ("Deconvolution2D", (4, 3), (2, 5, 6, 6)), ("Linear", (4,), (2, 5))],
)
def test_what_a_class_below_makes_when_the_size_is_known(name, args, shape):
    layer = noting(getattr(link_layers, "LinearLink" if name == "Linear" else name))
    for first in (5, None):
        one = layer(first, *args)
        assert is_lazy(one.weight) == (first is None) and hasattr(one, "made") == (first is not None)
        one(torch.ones(shape))
        assert one.made == (5, False)
    lazy = layer(None, *args)
    lazy._initialize_params(5)  # as a class below does that makes its parameters itself
    assert lazy.made == (5, False)
    assert tuple(lazy.weight.shape) == getattr(L, name)(5, *args).W.shape


class Scaled(link_layers.ChainerLayer):
    def __init__(self, size=None):
        super().__init__()
        self._new_parameter("weight", 2, size, 1)
        self._new_parameter("bias", None, size, 0)
        self._new_parameter("narrow", None, size, 1, torch.float16)
        self._new_buffer("mean", 0.5, size)
        self._new_buffer("count", 3, size, torch.int64)


def test_layers_of_parameters_that_wait_for_their_size():
    for size, shape in ((3, (3,)), ((2, 3), (2, 3)), ([2], (2,)), (np.int64(4), (4,))):
        layer = Scaled(size)
        state = {
            name: (tuple(value.shape), value.flatten()[0].item(), value.dtype)
            for name, value in layer.state_dict().items()
        }
        assert state == {
            "weight": (shape, 2, torch.float32),
            "bias": (shape, 0, torch.float32),
            "narrow": (shape, 1, torch.float16),
            "mean": (shape, 0.5, torch.float32),
            "count": (shape, 3, torch.int64),
        }
    lazy = Scaled()
    assert all(is_lazy(value) for value in lazy.state_dict().values()) and len(lazy.state_dict()) == 5
    filled = Scaled(3)
    with torch.no_grad():
        filled.weight += 1
        filled.mean += 1
    lazy.load_state_dict(filled.state_dict())
    assert lazy.weight.tolist() == [3, 3, 3] and lazy.mean.tolist() == [1.5] * 3
    assert lazy.weight.requires_grad and not lazy.state_dict()["weight"].requires_grad
    assert lazy.state_dict(keep_vars=True)["weight"] is lazy.weight
    some = Scaled()
    some.load_state_dict({"weight": torch.ones(2), "bias": Scaled().bias}, strict=False)
    assert some.weight.tolist() == [1, 1] and is_lazy(some.bias) and is_lazy(some.mean)


@pytest.mark.parametrize("sizes", [(1, 300, 40), (300, 1, 40), (30, 20, 5)], ids=str)
def test_first_values_of_bilinear_layers(sizes):
    torch.manual_seed(0)
    link, layer = L.Bilinear(*sizes), first_values.initialized(nn.Bilinear(*sizes))
    assert layer.weight.std().item() == pytest.approx(link.W.array.std(), rel=0.1)
    assert layer.weight.mean().abs().item() < layer.weight.std().item() / 10 and not layer.bias.any()


def test_schedules_by_hand_may_fire_at_any_time():
    """Those of pytorch-pfn-extras round their points down, and say which iterations they leave out."""
    ours, theirs = (module.ManualScheduleTrigger([1.26], "epoch") for module in (triggers, pfe_triggers))
    assert [step for step in range(20) if ours.may_fire(step, 10)] == list(range(20))
    assert len([step for step in range(20) if theirs.may_fire(step, 10)]) < 20


@pytest.mark.parametrize("n_inputs", [1, 2, 3])
@pytest.mark.parametrize("base", ["Function", "FunctionNode"])
def test_functions_without_a_backward_give_no_gradient(base, n_inputs):
    found = []
    for module in (chainer, long_functions, own_functions):

        class Own(getattr(module, base)):
            def forward(self, inputs):
                return (sum(inputs) * 2, inputs[0] * 3)

        arrays = [a(4, seed=seed) for seed in range(n_inputs)]
        if module is chainer:
            inputs = [chainer.Variable(x) for x in arrays]
        else:
            inputs = [torch.tensor(x, requires_grad=True) for x in arrays]
        first, second = Own()(*inputs) if base == "Function" else Own().apply(inputs)
        total = sum((x * 5 for x in inputs), first + second)
        if module is chainer:
            chainer.functions.sum(total).backward()
        else:
            total.sum().backward()
        found.append([total.array if module is chainer else total.detach(), *(x.grad for x in inputs)])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-6)


SAME_LAYERS = [
    (L.Linear(3, 2), nn.Linear(3, 2)),
    (L.Linear(3, 2, nobias=True), nn.Linear(3, 2, bias=False)),
    (
        L.Convolution2D(4, 6, (3, 2), (2, 1), (1, 0), dilate=(1, 2), groups=2),
        nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2),
    ),
    (L.Deconvolution2D(4, 6, (3, 2), (2, 1), (1, 0)), nn.ConvTranspose2d(4, 6, (3, 2), (2, 1), (1, 0))),
    (L.BatchNormalization(3, 0.75, 1e-3), nn.BatchNorm1d(3, 1e-3, 0.25)),
    (L.BatchNormalization(3, use_gamma=False, use_beta=False), nn.BatchNorm1d(3, 2e-5, 0.1, affine=False)),
    (L.LayerNormalization(3), nn.LayerNorm(3, 1e-6)),
    (L.GroupNormalization(2, 4), nn.GroupNorm(2, 4)),
    (L.EmbedID(5, 3), nn.Embedding(5, 3)),
    (L.PReLU((4,)), nn.PReLU(4)),
]
NAMES = ("W", "b", "gamma", "beta", "avg_mean", "avg_var", "decay", "eps", "N", "in_size", "out_size", "ignore_label")
OF_MAPS = ("ksize", "stride", "pad", "dilate", "groups", "out_channels")


@pytest.mark.parametrize(("link", "layer"), SAME_LAYERS, ids=lambda each: type(each).__name__)
def test_what_chainer_calls_the_attributes_of_layers(link, layer):
    load_npz(npz_of(link), layer)
    for name in (*NAMES, *(OF_MAPS if hasattr(link, "ksize") else ())):
        expected, found = getattr(link, name, "none"), link_attributes.link_attribute(layer, name, "none")
        if isinstance(expected, (str, int, float, tuple)) or expected is None:
            assert found == expected or name in ("in_size", "gamma", "beta", "b") and found is None, name
        elif getattr(expected, "array", expected) is not None:
            np.testing.assert_allclose(found.detach(), getattr(expected, "array", expected), err_msg=name)
    with pytest.raises(AttributeError):
        link_attributes.link_attribute(layer, "missing")


@pytest.mark.parametrize(("link", "layer"), SAME_LAYERS, ids=lambda each: type(each).__name__)
def test_attributes_of_layers_that_are_set(link, layer):
    for name in ("W", "b", "gamma", "beta"):
        param = getattr(link, name, None)
        own = link_attributes.own_attribute_name(layer, name)
        if param is None or layer._parameters.get(own) is None:
            continue
        for value in (
            np.full(param.shape, 2.0),
            torch.full(param.shape, 3.0),
            nn.Parameter(torch.full(param.shape, 4.0)),
        ):
            link_attributes.set_link_attribute(layer, name, value)
            set_to = dict(layer.named_parameters())[own]
            assert set_to.requires_grad and set_to.dtype == torch.float32 and set_to.flatten()[0] == value.flatten()[0]
            assert set_to is value or not isinstance(value, nn.Parameter)
        computed = nn.Parameter(torch.ones(param.shape)) * 2
        link_attributes.set_link_attribute(layer, name, computed)
        assert getattr(layer, own) is computed and own not in dict(layer.named_parameters())
    link_attributes.set_link_attribute(layer, "mine", 5)
    assert layer.mine == 5 and link_attributes.link_attribute(layer, "mine") == 5
    if isinstance(layer, nn.BatchNorm1d):
        link_attributes.set_link_attribute(layer, "decay", 0.25)
        link_attributes.set_link_attribute(layer, "N", 7)
        assert layer.momentum == 0.75 and link_attributes.link_attribute(layer, "decay") == 0.25
        assert link_attributes.link_attribute(layer, "N") == 7


def test_sizes_that_a_layer_was_not_given():
    for lazy in (first_values.initialized(nn.LazyLinear(2)), link_layers.LinearLink(None, 2)):
        assert link_attributes.link_attribute(lazy, "in_size") is None
        lazy(torch.ones(1, 3))
        assert link_attributes.link_attribute(lazy, "in_size") is None
    assert link_attributes.link_attribute(nn.Linear(3, 2), "in_size") == 3
    counted = nn.Module()
    counted.register_buffer("N", torch.tensor(3))
    assert link_attributes.link_attribute(counted, "N") == 3
    link_attributes.set_link_attribute(counted, "N", 8)
    assert counted.N.item() == 8 and type(link_attributes.link_attribute(counted, "N")) is int


@pytest.mark.parametrize("norm", ["L1", "L2"])
def test_hinge_losses(norm):
    for x, t in ((a(4, 3), [0, 1, 2, 2]), (a(1, 3), [2]), (a(2, 1), [0, 0]), (a(3, 2) * 3, [1, 0, 1])):
        there = chainer.Variable(x)
        expected = chainer.functions.hinge(there, np.array(t, "i"), norm)
        here = torch.tensor(x, requires_grad=True)
        found = functions.hinge(here, torch.tensor(t), *(() if norm == "L1" else (norm,)))
        expected.backward()
        found.backward()
        np.testing.assert_allclose(found.detach(), expected.array, rtol=1e-5)
        np.testing.assert_allclose(here.grad, there.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "layer",
    [
        nn.LazyLinear(4),
        nn.LazyConv2d(4, (3, 2), dilation=(2, 3), groups=2),
        nn.LazyConv1d(4, 3),
        nn.LazyConvTranspose2d(4, 2),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_that_get_the_shape_of_their_weight(layer):
    filled = type(layer).cls_to_become
    options = {} if filled is nn.Linear else {"dilation": layer.dilation, "groups": layer.groups}
    args = (6, 4) if filled is nn.Linear else (6, 4, layer.kernel_size)
    shape = filled(*args, **options).weight.shape
    asked = (4, shape[1]) if filled is not nn.ConvTranspose2d else (4, 6)
    first_values.initialize_layer(layer, asked)
    assert layer.weight.shape == shape
    with pytest.raises(TypeError, match="already"):
        first_values.initialize_layer(layer, asked)


@pytest.mark.parametrize("shape", [(1, 4000), (4000, 1), (1, 20, 10, 20)], ids=str)
@pytest.mark.parametrize("name", ["lecun_normal_", "lecun_uniform_"])
def test_first_values_of_single_rows(name, shape):
    torch.manual_seed(0)
    kind = chainer.initializers.LeCunNormal if name == "lecun_normal_" else chainer.initializers.LeCunUniform
    expected = np.empty(shape, "f")
    kind(rng=np.random.RandomState(0))(expected)
    found = getattr(first_values, name)(torch.empty(shape))
    assert found.std().item() == pytest.approx(expected.std(), rel=0.1)
    assert found.abs().max().item() == pytest.approx(np.abs(expected).max(), rel=0.25)
