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
from chainer2torch.native import array_module, arrays, devices, first_values, link_layers, own_functions, triggers


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
