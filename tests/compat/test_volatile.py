"""Volatile variables of version 1 against Chainer's no_backprop_mode, which took their place in version 2."""

import copy

import chainer
import chainer.functions as CF
import chainer.links as CL
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from chainer2torch import migrate_source
from chainer2torch.compat.variable.volatile import VolatileFlag, VolatileTensor, is_volatile, volatile_variable


def _layers() -> tuple[CL.Linear, nn.Linear]:
    link, layer = CL.Linear(3, 2), nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(link.W.array))
        layer.bias.copy_(torch.tensor(link.b.array))
    return link, layer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("on", ["on", "ON", True, VolatileFlag("on")])
def test_values_are_those_without_a_graph(dtype: str, on: object) -> None:
    link, layer = _layers()
    link.to_device("@numpy")
    link.W.array, link.b.array = link.W.array.astype(dtype), link.b.array.astype(dtype)
    layer = layer.to(getattr(torch, dtype))
    x = np.random.RandomState(0).randn(4, 3).astype(dtype)
    with chainer.no_backprop_mode():
        expected = CF.concat([CF.relu(link(x)), CF.tanh(link(x))], axis=1)
    v = volatile_variable(x, on)
    y = torch.cat([F.relu(layer(v)), torch.tanh(layer(v))], dim=1)
    np.testing.assert_allclose(y.numpy(), expected.array, rtol=1e-6)
    assert expected.creator_node is None and y.grad_fn is None and not y.requires_grad
    assert is_volatile(y) == "on" and is_volatile(y[0]) == "on" and is_volatile(y.sum()) == "on"
    assert is_volatile(copy.deepcopy(y)) == "on"


@pytest.mark.parametrize("off", ["off", False, "auto", None, VolatileFlag("off")])
def test_other_flags_start_a_graph(off: object) -> None:
    x = volatile_variable(np.ones((2, 3), "f"), off)
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, np.full((2, 3), 2, "f"))
    assert not is_volatile(x) and not isinstance(x, VolatileTensor)


def test_the_array_of_a_volatile_tensor_trains_as_any_other() -> None:
    link, layer = _layers()
    x = np.random.RandomState(1).randn(4, 3).astype("f")
    with chainer.no_backprop_mode():
        stored = CF.tanh(chainer.Variable(x))
    link.cleargrads()
    CF.sum(link(stored.array) ** 2).backward()
    y = torch.tanh(volatile_variable(x, "on"))
    for array in (y.detach(), y.data):
        layer.zero_grad()
        (layer(array) ** 2).sum().backward()
        np.testing.assert_allclose(layer.weight.grad, link.W.grad, rtol=1e-5)


@pytest.mark.parametrize("flag", ["on", "off"])
def test_the_first_gradient_is_kept(flag: str) -> None:
    x = volatile_variable(np.ones(3, "f"), flag, grad=np.arange(3, dtype="f"))
    np.testing.assert_array_equal(x.grad, chainer.Variable(np.ones(3, "f"), grad=np.arange(3, dtype="f")).grad)
    code = migrate_source("import chainer\nv = chainer.Variable(x, volatile=flag, grad=g)\n").code
    assert "v = compat.volatile_variable(x, flag, grad=g)" in code


def test_on_and_off_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="cannot be mixed"):
        volatile_variable(np.ones(3, "f"), "on") + volatile_variable(np.ones(3, "f"), "off")
    with pytest.raises(ValueError, match="'on', 'off' or 'auto'"):
        volatile_variable(np.ones(3, "f"), "of")


def test_flags_are_compared_as_in_version_1() -> None:
    on, off, auto = VolatileFlag("on"), VolatileFlag("OFF"), VolatileFlag(None)
    assert on == "ON" and on == True and on != off and off == "off" and off == False and auto == "auto"  # noqa: E712
    assert bool(on) and not off and [repr(f) for f in (on, off, auto)] == ["ON", "OFF", "AUTO"]
    assert len({on, VolatileFlag(True)}) == 1
    with pytest.raises(ValueError, match="AUTO"):
        bool(auto)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("chainer.Variable(x, volatile='off')", "compat.variable(x)"),
        ("chainer.Variable(x, False)", "compat.variable(x)"),
        ("chainer.Variable(x, volatile='on')", "compat.volatile_variable(x, 'on')"),
        ("chainer.Variable(x, True)", "compat.volatile_variable(x, True)"),
        ("chainer.Variable(x, volatile=not train)", "compat.volatile_variable(x, not train)"),
        (
            "chainer.Variable(x, volatile=chainer.Flag(train))",
            "compat.volatile_variable(x, compat.VolatileFlag(train))",
        ),
        ("chainer.Variable(x, volatile=chainer.flag.AUTO)", "compat.volatile_variable(x, compat.VolatileFlag('auto'))"),
        ("chainer.Variable(x, volatile=chainer.ON)", "compat.volatile_variable(x, compat.VolatileFlag('on'))"),
    ],
)
def test_emitted(before: str, after: str) -> None:
    result = migrate_source(f"import chainer\ndef f(x, train):\n    return {before}\n")
    assert f"    return {after}\n" in result.code
    assert {site.state for site in result.sites} == {"exact"}


def test_setting_the_flag_is_left_to_a_person() -> None:
    result = migrate_source("import chainer\nx = chainer.Variable(a)\nx.volatile = 'on'\n")
    assert [site.state for site in result.sites if site.symbol.endswith("volatile")] == ["manual"]


def test_an_automatic_variable_goes_with_either() -> None:
    """The zeros that a recurrent net starts from are AUTO: the inputs of training and of generation meet them."""
    for flag in ("on", "off"):
        start, x = volatile_variable(np.zeros((2, 3), "f"), "auto"), volatile_variable(np.ones((2, 3), "f"), flag)
        for y in (start + x, x * start, torch.cat([start, x])):
            assert is_volatile(y) == (flag == "on") and y.requires_grad == (flag == "off")
    zeros = volatile_variable(np.zeros(3, "f"), "auto")
    (zeros * 2).sum().backward()
    assert zeros.grad.tolist() == [2, 2, 2]
    code = migrate_source("import chainer\nv = chainer.Variable(x, volatile='auto')\n").code
    assert "v = compat.volatile_variable(x, 'auto')" in code
