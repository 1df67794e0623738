"""The short helpers of devices and array modules beside Chainer and NumPy, on the CPU; names of GPUs without a GPU."""

import chainer
import numpy as np
import pytest
import torch
from chainer.backends import cuda
from torch import nn

from chainer2torch.engine import Options, migrate_source
from chainer2torch.native import devices as native
from chainer2torch.rules.table import load_rules
from tests.support.native_snippets import migrated, run


@pytest.mark.parametrize("spec", ["@numpy", "native"])
def test_get_device_of_the_cpu(spec):
    if spec != "native":  # Chainer has that one with ChainerX alone
        assert chainer.get_device(spec).name == native.device_name(native.get_device(spec))
    assert native.get_device(spec) == torch.device("cpu")


@pytest.mark.parametrize("number", [-1, None])
def test_get_device_by_number(number):
    assert cuda.get_device_from_id(number) is cuda.DummyDevice or number is not None
    assert native.get_device(number) == torch.device("cpu")
    assert native.device_number(native.get_device(number)) == -1 == cuda.DummyDevice.id


@pytest.mark.parametrize(
    ("spec", "index"), [("@cupy:1", 1), ("1", 1), (2, 2), ("cuda:3", 3), ("cuda", 0), ("@cupy", 0), (np.int32(1), 1)]
)
def test_get_device_of_a_gpu(spec, index):
    device = native.get_device(spec)
    assert device == torch.device("cuda", index)
    assert native.get_device(device) is device
    assert (native.device_number(device), native.device_name(device)) == (index, f"@cupy:{index}")


@pytest.mark.parametrize("spec", ["gpu one", "@none", ""])
def test_get_device_refuses_what_chainer_refuses(spec):
    with pytest.raises((ValueError, RuntimeError)):
        chainer.get_device(spec)
    with pytest.raises(ValueError):
        native.get_device(spec)


def test_using_the_cpu_changes_nothing():
    cpu = torch.device("cpu")
    native.use_device(cpu)
    with native.using_device(cpu):
        assert torch.zeros(1).device == cpu


def test_device_of():
    assert native.device_of(nn.Linear(2, 3)) == native.device_of(torch.zeros(1)) == torch.device("cpu")
    assert native.device_of(nn.Linear(2, 3, device="meta")) == native.device_of(torch.zeros(1, device="meta"))
    assert native.device_of(nn.ReLU()) == native.device_of(torch.device("cpu")) == torch.device("cpu")
    assert native.device_of(np.ones(2)) == native.device_of(np.float32(1)) == torch.device("cpu")
    for other in ([np.ones(2, "f")], (torch.zeros(1),), {}, None, 3, np.ones(2).data):  # Chainer takes anything
        assert cuda.get_device_from_array(other) is cuda.DummyDevice
        assert native.device_of(other) == torch.device("cpu")
    with pytest.raises(AttributeError):  # an object of the program's own has no device that could be guessed
        native.device_of(object())


def test_to_device_as_chainer_dataset_to_device():
    arrays = [np.ones((2, 3), "f"), np.arange(3)]
    theirs = chainer.dataset.to_device(-1, arrays)
    for device in (-1, None, torch.device("cpu"), "@numpy"):
        ours = native.to_device(device, arrays)
        assert [x.dtype for x in ours] == [torch.float32, torch.int64]
        for x, y in zip(ours, theirs):
            np.testing.assert_array_equal(x.numpy(), y)
        np.testing.assert_array_equal(native.to_device(device, arrays[0]).numpy(), theirs[0])


def test_to_device_follows_what_holds_arrays():
    batch = {"x": (np.ones(2, "f"), [4, "text", None]), "t": np.float32(2)}
    ours = native.to_device(-1, batch)
    assert isinstance(ours["x"][0], torch.Tensor) and ours["x"][1] == [4, "text", None] and float(ours["t"]) == 2.0
    assert native.to_device(torch.device("meta"), torch.zeros(2)).device.type == "meta"
    assert native.to_device(None, torch.zeros(2, device="meta")).device.type == "meta"


def test_to_cpu_as_chainer():
    arrays = [np.ones(2, "f"), (np.arange(3),), 3]
    tensors = [torch.ones(2, requires_grad=True), (torch.arange(3),), 3]
    for ours, theirs in zip(native.to_cpu(tensors)[:1], cuda.to_cpu(arrays[:1])):
        assert isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert native.to_cpu(tensors)[2] == 3


def test_moving_to_a_gpu_asks_for_one():
    if torch.cuda.is_available():
        assert native.to_gpu(np.ones(2)).is_cuda and native.to_gpu([torch.ones(2)], 0)[0].is_cuda
        assert next(native.move_to_gpu(nn.Linear(2, 3)).parameters()).is_cuda
    else:
        for call in (lambda: native.to_gpu(np.ones(2)), lambda: native.move_to_gpu(nn.Linear(2, 3))):
            with pytest.raises((RuntimeError, AssertionError)):
                call()


class Own:
    def to_gpu(self, device=None):
        return device


def test_another_object_moves_itself():
    assert native.move_to_gpu(Own()) is None
    assert native.move_to_gpu(Own(), 1) == 1


VALUES = [1.5, 2, [1, 2], [1.5, 2], [[1.0], [2.0]], np.arange(3, dtype="i"), np.ones(2, "f"), [np.ones(2, "f")], [True]]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_as_tensor_has_the_dtype_of_numpy(value):
    ours, theirs = native.as_tensor(value, torch.device("cpu")), np.asarray(value)
    np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.numpy().dtype == theirs.dtype
    assert native.as_tensor(value, torch.device("cpu"), "f").numpy().dtype == np.asarray(value, "f").dtype


def test_as_tensor_of_tensors():
    x, t = torch.ones(2), torch.arange(2)
    assert native.as_tensor(x, x.device) is x
    theirs = np.asarray([x.numpy(), t.numpy()])
    ours = native.as_tensor([x, t], x.device)
    np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.numpy().dtype == theirs.dtype == np.float64


@pytest.mark.parametrize("dtype", ["f", "int32", float, int, bool, np.float16, np.dtype("u1"), None])
def test_torch_dtype(dtype):
    assert torch.zeros(2, dtype=native.torch_dtype(dtype)).numpy().dtype == np.zeros(2, dtype).dtype
    assert native.torch_dtype(torch.bfloat16) is torch.bfloat16
    with pytest.raises(TypeError):
        native.torch_dtype("text")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u1", "?"])
def test_floating(dtype):
    x = np.ones(3, dtype)
    theirs = np.sqrt(x.astype("f8")) if dtype in ("u1", "?") else np.sqrt(x)  # NumPy gives float16 for small ones
    ours = torch.sqrt(native.floating(torch.from_numpy(x)))
    np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.numpy().dtype == theirs.dtype


@pytest.mark.parametrize("one", ["f2", "f4", "f8", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("other", ["f4", "i8", "u1", "?"])
def test_same_dtype(one, other):
    x, y = np.ones(2, one), np.zeros(3, other)
    theirs = np.concatenate([x, y])
    ours = torch.cat(native.same_dtype([torch.from_numpy(x), y]))
    np.testing.assert_array_equal(ours.numpy(), theirs)
    assert ours.numpy().dtype == theirs.dtype


NUMBERS = """
class Scaled(chainer.Chain):
    def __init__(self, n):
        super(Scaled, self).__init__()
        with self.init_scope():
            self.gamma = chainer.Parameter(2, n)

    def forward(self, x):
        with chainer.cuda.get_device_from_id(self._device_id):
            ones = self.xp.ones(x.shape, 'f')
        return x * ones * self.gamma

class Bare(chainer.Chain):
    def forward(self, x):
        with chainer.cuda.get_device_from_id(self._device_id):
            return x * 2

def choose(options):
    chainer.cuda.get_device_from_id(options['gpus'][0]).use()
    return options

def run(xs):
    x = chainer.Variable(xs[0])
    options = choose(dict(gpus=[-1]))
    y = Bare()(Scaled((1, 2))(x))
    F.sum(y * y).backward()
    return y.array, x.grad
"""


@pytest.mark.filterwarnings("ignore:Link._device_id")
def test_the_number_that_a_link_has_of_its_device_and_one_that_nobody_knows():
    """A module has no ``_device_id``; ``set_device`` does nothing with a negative number, as Chainer's device."""
    theirs, ours, code = run(NUMBERS)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a)
    assert "with torch.cuda.device_of(next(self.parameters())):" in code
    assert "with compat.using_device(compat.device_of(self)):" in code
    assert "options['gpus'][0]" in code, code
    assert "_device_id" not in code


@pytest.mark.parametrize("number", ["self.device", "updater._device", "None"])
def test_a_number_that_may_be_none_keeps_the_helper(number):
    text = f"def choose(self, updater):\n    chainer.cuda.get_device_from_id({number}).use()\n"
    assert f"compat.use_device(compat.get_device({number}))" in migrated(text).code


def test_a_method_that_nobody_calls_is_marked_though_its_calls_need_no_comment() -> None:
    """``param.to_gpu`` without a call raises in PyTorch: only what asks a person nothing has no comment."""
    head = "import chainer\n\n\nclass A(chainer.Link):\n    def __init__(self):\n        super().__init__(W=(3, 3))\n\n"
    source = head + "    def __call__(self, x):\n        self.W.to_gpu\n        self.W.to_gpu()\n        return x\n"
    result = migrate_source(source, rules=load_rules(style="native"), options=Options(style="native"))
    marked = [line for line in result.code.splitlines() if "TODO" in line]
    assert len(marked) == 1 and "a method that is passed as a value" in marked[0]
