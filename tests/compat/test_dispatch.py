"""The helpers for receivers of unknown kind: tensors and modules as Chainer's, other objects their own way."""

import types
from typing import Any

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.compat.backend import dispatch
from chainer2torch.compat.optimizers import optimizers
from chainer2torch.compat.backend.array_dtypes import astype
from chainer2torch.compat.links.linear import Linear


class Other:
    """Has methods of the same names."""

    array = "mine"

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, *args)) or "result"


def test_array() -> None:
    data = np.arange(6, dtype="f").reshape(2, 3)
    x = torch.tensor(data, requires_grad=True)
    got = dispatch.array_of(x * 2)
    assert not got.requires_grad
    np.testing.assert_array_equal(got.numpy(), (chainer.Variable(data) * 2).array)
    assert dispatch.array_of(Other()) == "mine"


def test_setting_an_array() -> None:
    x, other = torch.zeros(2, 3), types.SimpleNamespace()
    dispatch.set_array_of(x, torch.ones(4))
    dispatch.set_array_of(other, 5)
    assert x.tolist() == [1, 1, 1, 1] and not hasattr(x, "array") and other.array == 5


@pytest.mark.parametrize(
    "name, args",
    [
        ("cleargrads", ()),
        ("zerograds", ()),
        ("namedparams", (True,)),
        ("namedlinks", (False,)),
        ("copyparams", ("link", True)),
        ("unchain", ()),
        ("unchain_backward", ()),
        ("params", ()),
        ("params", (False,)),
        ("links", ()),
        ("links", (True,)),
        ("children", ()),
        ("count_params", ()),
        ("addgrads", ("link",)),
        ("copy", ("init",)),
    ],
)
def test_other_objects_keep_their_methods(name: str, args: tuple[Any, ...]) -> None:
    other = Other()
    getattr(dispatch, f"{name}_of")(other, *args)
    assert other.calls == [(name, *args)]


def test_unchain() -> None:
    x = torch.ones(3, requires_grad=True)
    h = x * 2
    dispatch.unchain_of(h)
    (h * h).sum().backward()
    assert x.grad is None
    np.testing.assert_array_equal(h.grad, [4, 4, 4])


def test_unchain_of_a_view() -> None:
    x = torch.ones(3, requires_grad=True)
    whole = x * 2
    h = whole.reshape(1, 3)
    dispatch.unchain_of(h)
    (h * h).sum().backward()
    assert x.grad is None and h.is_leaf
    np.testing.assert_array_equal(h.grad, [[4, 4, 4]])
    whole.sum().backward()
    np.testing.assert_array_equal(x.grad, [2, 2, 2])


def test_modules() -> None:
    theirs, ours = L.Linear(3, 2), Linear(3, 2)
    assert [n for n, _ in dispatch.namedparams_of(ours)] == [n for n, _ in sorted(theirs.namedparams())]
    assert [n for n, _ in dispatch.namedlinks_of(ours)] == [n for n, _ in theirs.namedlinks()]
    ours(torch.ones(4, 3)).sum().backward()
    dispatch.cleargrads_of(ours)
    assert dispatch.to_device_of(ours, "@numpy") is ours and ours.weight.device.type == "cpu"
    assert dispatch.to_device_of(types.SimpleNamespace(to_device=lambda device: ["own", device]), -1) == ["own", -1]
    assert all(p.grad is None for p in ours.parameters())
    dispatch.zerograds_of(ours)
    theirs.zerograds()
    for param, (_, real) in zip(dispatch.namedparams_of(ours), sorted(theirs.namedparams()), strict=True):
        np.testing.assert_array_equal(param[1].grad, real.grad)
    other = Linear(3, 2)
    dispatch.copyparams_of(ours, other)
    assert torch.equal(ours.weight, other.weight)


def test_children_are_added() -> None:
    holder, layers, said = torch.nn.Module(), torch.nn.ModuleList(), []
    dispatch.add_link_of(holder, "fc", Linear(3, 2))
    dispatch.add_link_of(layers, Linear(3, 2))
    assert [name for name, _ in holder.named_children()] == ["fc"] and len(layers) == 1
    with pytest.raises(AttributeError):  # as Chainer's
        dispatch.add_link_of(holder, "fc", Linear(3, 2))
    dispatch.add_link_of(types.SimpleNamespace(add_link=lambda *given: said.append(given)), "a", 1)
    dispatch.add_link_of(types.SimpleNamespace(add_link=lambda *given: said.append(given)), "a")
    assert said == [("a", 1), ("a",)]


class _Own(torch.nn.Module):
    """A module with methods of its own, under the names of Chainer's."""

    def cleargrads(self) -> str:
        return "cleared"

    def count_params(self) -> int:
        return -1

    def links(self, skipself: bool = False) -> list[bool]:
        return [skipself]

    def namedlinks(self, skipself: bool = False) -> list[bool]:
        return [skipself]

    def to_cpu(self) -> str:
        return "here"

    def to_gpu(self, device: Any = None) -> Any:
        return "there", device


def test_methods_of_ones_own_come_first() -> None:
    own = _Own()
    assert dispatch.count_params_of(own) == -1
    assert dispatch.links_of(own) == [False] and dispatch.namedlinks_of(own, True) == [True]
    assert dispatch.to_cpu_of(own) == "here"
    assert dispatch.to_gpu_of(own) == ("there", None) and dispatch.to_gpu_of(own, 1) == ("there", 1)


def test_moving_what_is_not_known() -> None:
    theirs, ours = L.Linear(3, 2), Linear(3, 2)
    assert theirs.to_cpu() is theirs and dispatch.to_cpu_of(ours) is ours
    variable, tensor = chainer.Variable(np.ones(2, "f")), torch.ones(2)
    assert variable.to_cpu() is None and dispatch.to_cpu_of(tensor) is None
    assert dispatch.to_cpu_of(types.SimpleNamespace(to_cpu=lambda: 3)) == 3
    assert dispatch.to_gpu_of(types.SimpleNamespace(to_gpu=lambda *device: device)) == ()
    assert dispatch.to_gpu_of(types.SimpleNamespace(to_gpu=lambda *device: device), 2) == (2,)


def test_array_modules() -> None:
    link = torch.nn.Linear(2, 3)
    for value in (link, link.weight, torch.device("cpu")):
        assert torch.equal(dispatch.xp_of(value).zeros(3, "f"), torch.zeros(3))
    assert dispatch.xp_of(types.SimpleNamespace(xp=np)) is np
    with pytest.raises(AttributeError):
        dispatch.xp_of(3)


@pytest.mark.parametrize(
    "shape, dtype, src",
    [
        ((2, 3), "f4", np.arange(6, dtype="f8").reshape(2, 3)),
        ((2, 3), "f4", np.arange(3)),
        ((2, 3), "i4", 4),
        ((3,), "f8", np.float32(2.5)),
        ((2, 3), "f4", 1.5),
    ],
)
def test_copyto_is_numpys(shape: tuple[int, ...], dtype: str, src: Any) -> None:
    expected = np.zeros(shape, dtype)
    np.copyto(expected, src)
    parameter = torch.zeros(shape, dtype=torch.from_numpy(expected).dtype)
    if parameter.is_floating_point():
        parameter.requires_grad_()
    dispatch.copyto(parameter, src)
    np.testing.assert_array_equal(parameter.detach().numpy(), expected)
    array = np.zeros(shape, dtype)
    dispatch.copyto(array, torch.as_tensor(src) if isinstance(src, np.ndarray) else src)
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("target", [np.zeros(3, "i4"), torch.zeros(3, dtype=torch.int32)])
def test_copyto_refuses_what_numpy_refuses(target: Any) -> None:
    with pytest.raises(TypeError):
        dispatch.copyto(target, np.zeros(3))


@pytest.mark.parametrize("dtype", ["f", np.float64, torch.int32, "?"])
@pytest.mark.parametrize("copy", [True, False])
def test_astype_of_either_side(dtype: Any, copy: bool) -> None:
    data = np.array([[0.0, 1.5], [2.0, -3.0]], "f")
    wanted = data.astype("i" if dtype is torch.int32 else dtype)
    for x in (data, torch.tensor(data)):
        got = astype(x, dtype, copy=copy)
        assert type(got) is type(x) and np.asarray(got).dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(got), wanted)
        assert not (copy and got is x)


def test_astype_of_other_objects_is_their_own() -> None:
    table = types.SimpleNamespace(astype=lambda dtype, copy: [dtype, copy])
    assert astype(table, "category") == ["category", True]
    assert astype(table, torch.float32) == [np.dtype("float32"), True]


def test_update_switches_of_a_module_and_of_other_objects() -> None:
    layer = torch.nn.Linear(2, 2)
    optimizer = optimizers.SGD().setup(layer)
    dispatch.set_update_enabled_of(layer, False)
    assert not any(p.update_rule.enabled for p in optimizer.target.parameters())
    dispatch.set_update_enabled_of(layer, True)
    assert all(p.update_rule.enabled for p in optimizer.target.parameters())
    said: list[str] = []
    other = types.SimpleNamespace(enable_update=lambda: said.append("on"), disable_update=lambda: said.append("off"))
    dispatch.set_update_enabled_of(other, True)
    dispatch.set_update_enabled_of(other, False)
    assert said == ["on", "off"]


def test_from_host_and_back() -> None:
    x = np.arange(6.0).reshape(2, 3)
    tensor = dispatch.from_host(x)
    tensor[0, 0] = 7
    assert x[0, 0] == 7
    assert dispatch.from_host(x[:, ::-1]).tolist() == x[:, ::-1].tolist()
    assert dispatch.from_host(tensor) is tensor and dispatch.from_host("text") == "text"
    listed = dispatch.from_host([x, tensor, 3])
    assert torch.equal(listed[0], torch.tensor(x)) and listed[1] is tensor and listed[2] == 3
    assert isinstance(dispatch.from_host((x, x)), tuple)
    plain = [tensor, 3]
    assert dispatch.from_host(plain) is plain


@pytest.mark.parametrize("axes", [(2, 0, 1), ((2, 0, 1),), (), (None,), (-1, 0, 1)])
def test_axes_of_an_array_or_a_tensor_in_another_order(axes: tuple[Any, ...]) -> None:
    data = np.arange(24, dtype="f").reshape(2, 3, 4)
    x = torch.tensor(data, requires_grad=True)
    got = dispatch.transposed(x, *axes)
    np.testing.assert_array_equal(got.detach().numpy(), data.transpose(*axes))
    np.testing.assert_array_equal(dispatch.transposed(data, *axes), data.transpose(*axes))
    assert got.requires_grad


def test_parts_and_copies_of_a_tensor_are_those_of_numpy() -> None:
    data = np.arange(24, dtype="f").reshape(2, 3, 4)
    x = dispatch.numpy_methods(torch.tensor(data))
    np.testing.assert_array_equal(x.take([2, 0], axis=1).numpy(), data.take([2, 0], axis=1))
    np.testing.assert_array_equal(x.take([[5, 0]]).numpy(), data.take([[5, 0]]))
    for method in (lambda a: a.cumprod(), lambda a: a.cumsum(), lambda a: a.round(-1), lambda a: a.dot(data[0].T)):
        np.testing.assert_array_equal(method(x).numpy(), method(data))
    flat = x.flatten()
    flat[0] = 7
    np.testing.assert_array_equal(x.take([0]).numpy(), [0])
    assert dispatch.numpy_methods(data) is data
