"""The short forms of links beside Chainer's: values, gradients, both modes; sizes that the first batch says."""

import copy
import io

import chainer
import numpy as np
import pytest
import torch
from chainer import links as L

from chainer2torch.compat.links.link_tree import namedparams
from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.native import small_links as S
from tests.support.links import check_link, npz_of

GIVEN = np.arange(1, 5, dtype="f")
LINKS = [
    (lambda m: m.Bias(1, (6,)), ["f32[4,6]"]),
    (lambda m: m.Bias(2, (3, 2)), ["f32[4,5,3,2,3]"]),
    (lambda m: m.Bias(shape=()), ["f32[4,5]"]),
    (lambda m: m.Bias(1), ["f32[4,5,3]", "f32[5]"]),
    (lambda m: m.PReLU(), ["f32[4,6]"]),
    (lambda m: m.PReLU((6, 2), 0.1), ["f32[4,6,2,3]"]),
    (lambda m: m.PReLU((4,), GIVEN), ["f32[5,4]"]),
    (lambda m: m.LayerNormalization(), ["f32[5,4]"]),
    (lambda m: m.LayerNormalization(3, 0.1, 3, 2), ["f32[5,3]"]),
    (lambda m: m.LayerNormalization(None, initial_beta=1), ["f32[5,7]"]),
    (lambda m: m.GroupNormalization(2), ["f32[5,4]"]),
    (lambda m: m.GroupNormalization(1, 4, 0.1, GIVEN, 2), ["f32[5,4,2,2]"]),
    (lambda m: m.GroupNormalization(4, initial_gamma=3), ["f32[2,4,3]"]),
    (lambda m: m.Inception(3, 2, 4, 5, 2, 3, 4), ["f32[2,3,6,5]"]),
    (lambda m: m.Inception(None, 2, 4, 5, 2, 3, 4, 0.1, 0.2), ["f32[2,3,6,5]"]),
    (lambda m: m.InceptionBN(3, 2, 4, 5, 2, 3, "max", 4), ["f32[2,3,6,5]"]),
    (lambda m: m.InceptionBN(None, 2, 4, 5, 2, 3, "avg", 4), ["f32[2,3,6,5]"]),
    (lambda m: m.InceptionBN(3, 0, 4, 5, 2, 3, "max", stride=2, conv_init=0.1), ["f32[2,3,6,7]"]),
]


@pytest.mark.parametrize("make,inputs", LINKS)
def test_beside_chainer(make, inputs):
    check_link(lambda: make(L), lambda: make(S), inputs, steps=2)


@pytest.mark.parametrize("make,inputs", LINKS)
def test_first_values_that_are_given_or_constant(make, inputs):
    """Those that are drawn have Chainer's deviation in the mean, which a wrong fan would change."""
    link, module = make(L), make(S)
    shapes = [tuple(int(n) for n in spec[4:-1].split(",")) for spec in inputs]
    with chainer.using_config("enable_backprop", False):
        link(*[np.ones(shape, "f") for shape in shapes])
    module(*[torch.ones(shape) for shape in shapes])
    theirs, ours = dict(link.namedparams()), dict(namedparams(module))
    assert set(theirs) == set(ours)
    for path, param in theirs.items():
        array, tensor = param.array, ours[path].detach().numpy()
        if len(np.unique(array)) <= 1 or "gamma" in path or "beta" in path or "PReLU" in type(link).__name__:
            np.testing.assert_array_equal(tensor, array)
        elif array.size > 60:
            assert tensor.std() * np.prod(array.shape[1:]) ** 0.5 == pytest.approx(1, abs=0.4)


@pytest.mark.parametrize("make", [lambda m: m.LayerNormalization(), lambda m: m.GroupNormalization(2, initial_beta=4)])
def test_a_size_that_is_not_known_yet_can_be_loaded_copied_and_saved(make):
    link, loaded, fresh = make(L), make(S), make(S)
    x = np.random.RandomState(0).randn(3, 4).astype("f")
    link(x)
    link.gamma.array[...] = [1, 2, 3, 4]
    load_npz(npz_of(link), loaded)
    file = io.BytesIO()
    torch.save(fresh, file)
    file.seek(0)
    for module in (copy.deepcopy(fresh), torch.load(file, weights_only=False)):
        module.load_state_dict(loaded.state_dict())
        for one in (module, loaded):
            np.testing.assert_allclose(one(torch.tensor(x)).detach().numpy(), link(x).array, rtol=1e-4, atol=1e-5)
    assert (fresh(torch.tensor(x)).shape, float(fresh.weight.detach().sum())) == ((3, 4), 4.0)


def test_a_class_below_keeps_its_own_calls():
    class Rows(S.LayerNormalization):
        def forward(self, x):
            return super().forward(x.reshape(-1, x.shape[-1])).reshape(x.shape)

    rows = Rows()
    assert rows(torch.ones(2, 3, 4)).shape == (2, 3, 4) and rows.weight.shape == (4,) and type(rows) is Rows


def test_parameter_link():
    array = np.arange(6, dtype="f").reshape(2, 3)
    link, module = L.Parameter(array.copy()), S.ParameterLink(array)
    np.testing.assert_array_equal(module().detach().numpy(), link().array)
    array[...] = 0
    assert module.W.sum() == 15 and [path for path, _ in namedparams(module)] == ["/W"]


def test_errors():
    x = torch.ones(2, 3)
    for module, args in ((S.Bias(1), (x,)), (S.Bias(1, (3,)), (x, x))):
        with pytest.raises(ValueError):
            module(*args)
    with pytest.raises(ValueError):
        S.GroupNormalization(2, 3)
    for args in ((3, 0, 4, 5, 2, 3, "sum"), (3, 2, 4, 5, 2, 3, "max"), (3, 2, 4, 5, 2, 3, "max", 4, 2)):
        with pytest.raises(ValueError):
            S.InceptionBN(*args)
        with pytest.raises((AssertionError, NotImplementedError)):
            L.InceptionBN(*args)
