"""The short form of version 1's volatile variables: the same values and gradients as the long one, and as Chainer."""

import copy

import chainer
import chainer.functions as CF
import chainer.links as CL
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from chainer2torch.compat.variable import volatile as long
from chainer2torch.native import volatile as short
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words

FLAGS = ["on", "ON", True, "off", "OFF", False, "auto", "AUTO", None]


def layers() -> tuple[CL.Linear, nn.Linear]:
    link, layer = CL.Linear(3, 2), nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(link.W.array))
        layer.bias.copy_(torch.tensor(link.b.array))
    return link, layer


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("form", [long, short])
def test_values_and_gradients_are_chainers(form, flag) -> None:
    """An ON variable computes as under no_backprop_mode; from the others a graph starts."""
    link, layer = layers()
    array = np.random.RandomState(0).randn(4, 3).astype("f")
    on = flag in ("on", "ON", True)
    v = chainer.Variable(array)
    with chainer.using_config("enable_backprop", not on):
        expected = CF.sum(CF.concat([CF.relu(link(v)), v], axis=1) ** 2)
    x = form.volatile_variable(array, flag)
    y = (torch.cat([F.relu(layer(x)), x], dim=1) ** 2).sum()
    np.testing.assert_allclose(y.detach().numpy(), expected.array, rtol=1e-5)
    assert y.requires_grad is not on and (expected.creator_node is None) is on
    if on:
        assert isinstance(y, form.VolatileTensor) and isinstance(y.reshape(1)[0], form.VolatileTensor)
        assert all(type(z) is torch.Tensor for z in (y.detach(), y.data)) and copy.deepcopy(y) == y
    else:
        link.cleargrads()
        expected.backward()
        y.backward()
        np.testing.assert_allclose(x.grad, v.grad, rtol=1e-5)
        np.testing.assert_allclose(layer.weight.grad, link.W.grad, rtol=1e-5)


@pytest.mark.parametrize("flag", ["on", "off"])
def test_it_shares_the_memory_and_keeps_a_first_gradient(flag: str) -> None:
    array, grad = np.ones(3, "f"), np.arange(3, dtype="f")
    x = short.volatile_variable(array, flag, grad=grad)
    array[0] = 5
    assert x[0] == 5 and x.grad.tolist() == [0, 1, 2]


@pytest.mark.parametrize("flag", ["on", "off"])
def test_an_array_that_runs_backwards_is_copied(flag: str) -> None:
    array = np.arange(6, dtype="f").reshape(2, 3)[:, ::-1]
    for form in (long, short):
        np.testing.assert_array_equal(form.volatile_variable(array, flag).detach().numpy(), array)
    assert short.volatile_variable(np.float32(3), flag).item() == 3


def test_from_its_array_one_trains_as_from_any_other() -> None:
    link, layer = layers()
    array = np.random.RandomState(1).randn(4, 3).astype("f")
    link.cleargrads()
    CF.sum(link(np.tanh(array)) ** 2).backward()
    stored = torch.tanh(short.volatile_variable(array, "on"))
    for part in (stored.detach(), stored.data):
        layer.zero_grad()
        (layer(part) ** 2).sum().backward()
        np.testing.assert_allclose(layer.weight.grad, link.W.grad, rtol=1e-5)


def test_what_is_no_flag_raises() -> None:
    with pytest.raises(ValueError, match="'on', 'off' or 'auto'"):
        short.volatile_variable(np.ones(3, "f"), "of")


def test_a_project_that_asks_for_the_flag_has_the_long_form() -> None:
    names = ["volatile_variable", "is_volatile"]
    alone = compat_file.build(names[:1], style="native", said=words("compat.volatile_variable(x, 'on')"))
    asked = compat_file.build(names, style="native", said=words("compat.is_volatile(x) == 'on'"))
    assert (
        "VolatileFlag" not in alone
        and alone.count("class VolatileTensor") == 1
        and "grad" not in alone.split("no_grad")[-1].replace("requires_grad_", "")
    )
    assert asked.count("class VolatileTensor") == 1 and "VolatileFlag(isinstance(x, VolatileTensor))" in asked
