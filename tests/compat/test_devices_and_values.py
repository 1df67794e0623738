"""Devices by their names, methods of arrays, values as texts, parts of files: small helpers by themselves."""

import collections
import io

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.compat.backend import devices, dispatch
from chainer2torch.compat.serializers import npz_parts
from chainer2torch.compat.variable import variables

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    "spec, expected",
    [
        *((spec, CPU) for spec in ("@numpy", "@intel64", "native", "cpu", -1, "-1", np.int64(-1), "native:0", CPU)),
        *((spec, torch.device("cuda", 0)) for spec in (0, "0", "@cupy", "cuda", "gpu", "@cupy:0", ("cuda", 0))),
        *(
            (spec, torch.device("cuda", 3))
            for spec in (3, "3", "@cupy:3", "cuda:3", "gpu:3", np.int32(3), ("@cupy", 3))
        ),
        *((spec, None) for spec in (True, "cuda:x", "tpu", "cuda:-1", None, 1.0, ("cuda", 0, 1), ("cuda",), "")),
    ],
    ids=str,
)
def test_specifiers(spec, expected):
    if expected is None:
        with pytest.raises(ValueError, match="Invalid device"):
            devices.get_device(spec)
    else:
        assert devices.get_device(spec) == expected
        assert devices.device_name(expected) == ("@numpy" if expected == CPU else f"@cupy:{expected.index}")
        assert devices.device_number(expected) == (-1 if expected == CPU else expected.index)
        assert devices.is_device(expected, expected.type) and not devices.is_device(expected, "meta")


def test_devices_of_what_is_given():
    assert devices.device_name("other") == "other" and not devices.is_device("cpu", "cpu")
    assert devices.find_device() == devices.find_device(None, "text") == devices.get_device_from_id(None) == CPU
    assert devices.get_device_from_id(-1) == CPU and devices.get_device_from_id(2) == torch.device("cuda", 2)
    meta = torch.empty(1, device="meta")
    assert devices.find_device(None, meta, 2) == devices.find_device(nn.Linear(1, 1, device="meta")) == meta.device
    assert devices.find_device(nn.Module(), meta) == meta.device
    assert (
        devices.use_device(-1) == CPU and devices.use_device("cuda") is not None if torch.cuda.is_available() else True
    )
    with devices.using_device(-1) as inside:
        assert inside == CPU
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            devices.check_cuda_available()
    assert not isinstance(torch.ones(1), devices.CudaArray) and not isinstance(3, devices.CudaArray)


def test_what_is_sent_to_a_device():
    pair = collections.namedtuple("pair", "a b")
    host = np.arange(3.0)
    sent = devices.to_device(-1, {"x": [host, (np.float32(2), "text")], "y": pair(torch.ones(1), None)})
    assert sent["x"][0].data_ptr() == host.ctypes.data and sent["x"][1][0].dtype == torch.float32
    assert sent["x"][1][1] == "text" and isinstance(sent["y"], pair) and sent["y"].b is None
    assert devices.to_device(None, torch.empty(1, device="meta")).is_meta
    assert devices.to_device(torch.device("meta"), host).is_meta
    for array in (host[::-1], host.astype(">f8"), np.broadcast_to(host, (2, 3))):
        made = devices._as_tensor(array)
        assert made.tolist() == array.tolist() and made.dtype == torch.float64
        made += 1
        assert host.tolist() == [0, 1, 2]
    for kept in (np.array(["a"]), np.array([None], dtype=object)):
        assert devices._as_tensor(kept) is kept
    assert devices.to_gpu([host, (host,)], torch.device("meta"))[1][0].is_meta
    back = devices.to_cpu([torch.ones(2, requires_grad=True), (host, 3)])
    assert isinstance(back[0], np.ndarray) and back[1][0] is host and back[1][1] == 3 and type(back[1]) is tuple


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_methods_of_arrays(axis, keepdims):
    host = np.random.RandomState(0).randn(3, 4)
    ours = dispatch._NumpyMethods(torch.tensor(host))
    for name in ("max", "min"):
        np.testing.assert_array_equal(getattr(ours, name)(axis, keepdims), getattr(host, name)(axis, keepdims=keepdims))
        np.testing.assert_array_equal(getattr(ours, name)(axis), getattr(host, name)(axis))
    for name in ("std", "var"):
        for ddof in (0, 1):
            expected = getattr(host, name)(axis, ddof=ddof, keepdims=keepdims)
            np.testing.assert_allclose(getattr(ours, name)(axis, ddof=ddof, keepdims=keepdims), expected)
        np.testing.assert_allclose(getattr(ours, name)(axis), getattr(host, name)(axis))


def test_methods_of_arrays_that_change_them():
    host = np.random.RandomState(0).randn(3, 4)
    for axis in ((), (0,), (1,), (-1,)):
        tensor, expected = torch.tensor(host, requires_grad=True), host.copy()
        dispatch._NumpyMethods(tensor).sort(*axis)
        expected.sort(*axis)
        np.testing.assert_array_equal(tensor.detach(), expected)
    whole = np.array([[0, 1, 2], [3, 0, 0]])
    ours = dispatch._NumpyMethods(torch.tensor(whole))
    assert [part.tolist() for part in ours.nonzero()] == [part.tolist() for part in whole.nonzero()]
    assert (
        ours.repeat(2, 1).tolist() == whole.repeat(2, 1).tolist()
        and ours.repeat(2).tolist() == whole.repeat(2).tolist()
    )
    copied = ours.copy()
    ours.fill(5)
    assert copied.tolist() == whole.tolist() and ours.get().tolist() == [[5] * 3] * 2


def test_values_as_they_are_written():
    shown = dispatch.shown({"a": torch.tensor(2.0), "b": [torch.ones(2), (torch.tensor(1),)], "c": torch.Size([2, 3])})
    assert isinstance(shown["a"], np.float32) and isinstance(shown["b"][0], np.ndarray)
    assert shown["c"] == (2, 3) and type(shown["b"][1]) is tuple and dispatch.shown("text") == "text"
    ordered = collections.OrderedDict(x=torch.ones(1))
    assert type(dispatch.shown(ordered)) is collections.OrderedDict
    lazy = nn.LazyLinear(2)
    assert dispatch.data_of(lazy.weight) is None and dispatch.data_of(torch.ones(2)).tolist() == [1, 1]
    for shape in ((), (2,), (2, 3), (0, 1)):
        theirs = chainer.Variable(np.zeros(shape, "f"))
        assert variables.variable_label(torch.zeros(shape)).replace(",)", ")") == theirs.label.replace(",)", ")")


def test_gradients_of_variables():
    found = []
    for wrap, zerograd, addgrad in (
        (chainer.Variable, lambda x: x.zerograd(), lambda x, y: x.addgrad(y)),
        (lambda x: torch.tensor(x, requires_grad=True), variables.zerograd, variables.addgrad),
    ):
        x, y = wrap(np.ones(2, "f")), wrap(np.full(2, 3, "f"))
        seen = []
        addgrad(x, y)
        seen.append(x.grad is None)
        zerograd(y)
        seen.append(y.grad.tolist())
        y.grad = y.grad + 2
        addgrad(x, y)
        addgrad(x, y)
        seen += [x.grad.tolist(), y.grad.tolist()]
        zerograd(x)
        seen.append(x.grad.tolist())
        found.append(seen)
    assert found[0] == found[1]
    moved = torch.ones(2, requires_grad=True)
    moved.grad = torch.ones(2)
    variables.move_variable(moved, "cpu")
    assert moved.grad.tolist() == [1, 1] and moved.is_leaf
    variables.move_variable(plain := torch.ones(2), "cpu")
    assert plain.grad is None


@pytest.mark.parametrize("args", [(), (None,), ((1, 0, 2),), ([2, 0, 1],), (0, 2, 1), (-1, 0, 1), (0, 1)], ids=str)
def test_orders_of_axes(args):
    host = np.arange(24.0).reshape(2, 3, 4)
    try:
        expected = chainer.Variable(host).transpose(*args).array
    except Exception:
        with pytest.raises(RuntimeError):
            variables.variable_transpose(torch.tensor(host), *args)
    else:
        np.testing.assert_array_equal(variables.variable_transpose(torch.tensor(host), *args), expected)


def test_what_is_read_backwards():
    host = np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, -1, -2):
        expected = np.flip(host, axis).tolist()
        assert variables.reversed_along(torch.tensor(host), axis).tolist() == expected
        assert variables.reversed_along(host, axis).tolist() == expected
    assert variables.reversed_along(host).tolist() == host[::-1].tolist()
    assert variables.reversed_along([1, 2]) == [2, 1] and variables.reversed_along("ab") == "ba"


class Stored:
    """What has a ``serialize`` method, of either side."""

    def __init__(self):
        self.n, self.array, self.none = 3, np.arange(2.0), None

    def serialize(self, serializer):
        self.n = serializer("n", self.n)
        self.array = serializer("a", self.array)
        self.none = serializer("none", self.none)


@pytest.mark.parametrize("path", ["", "part/"])
@pytest.mark.parametrize(
    "ignored", [None, "part/n", lambda key: key.endswith("a"), ["n", lambda key: key.endswith("W")]]
)
def test_parts_of_files(path, ignored):
    found = []
    for module, link in ((chainer.serializers, L.Linear(2, 3)), (npz_parts, nn.Linear(2, 3))):
        writer = module.DictionarySerializer({}, path)
        writer.save(Stored())
        if module is chainer.serializers:
            writer.save(link)
            entries = {key: np.array(value) for key, value in writer.target.items()}
        assert all(np.asarray(entries[key]).shape == np.asarray(value).shape for key, value in writer.target.items())
        stream = io.BytesIO()
        np.savez(stream, **entries)
        results = []
        for source in (dict(entries), np.load(io.BytesIO(stream.getvalue()), allow_pickle=True)):
            for strict in (True, False):
                reader = module.NpzDeserializer(source, path, strict, ignored)
                other = Stored()
                other.n, other.array, other.none = 7, np.zeros(2), 5
                reader.load(other)
                results.append((other.n, other.array.tolist(), other.none))
                inner = reader["deeper"]
                results.append((inner.path.strip("/"), inner.strict))
                with torch.no_grad():
                    for name in ("W", "weight"):
                        if hasattr(link, name):
                            getattr(link, name).data[...] = 9
                reader.load(link)
                weight = link.W.array if module is chainer.serializers else link.weight.detach().numpy()
                results.append(weight.tolist())
        found.append(results)
    for theirs, ours in zip(*found, strict=True):
        assert str(theirs) == str(ours)


@pytest.mark.parametrize("other", [np.float32([1, 2]), np.array([1, 2]), np.array([1.5, 2]), 0.0])
@pytest.mark.parametrize("x", [np.float32([1, 3]), np.array([2, 3]), np.array([1.5, 2])])
def test_a_tensor_in_the_dtype_that_numpy_computes_in(x, other):
    beside = torch.from_numpy(other) if isinstance(other, np.ndarray) else other
    assert dispatch.promoted(torch.from_numpy(x), beside).numpy().dtype == (x + other).dtype
    assert dispatch.promoted(x, beside) is x


def test_an_array_beside_a_tensor_and_beside_anything_else():
    x, tensor = np.arange(3.0)[::-1], torch.ones(3)
    met = dispatch.beside(x, tensor)
    assert met.dtype == torch.float32 and met.tolist() == [2, 1, 0]
    assert dispatch.beside(x, 2.0) is x and dispatch.beside(x, x) is x and dispatch.beside(tensor, tensor) is tensor
