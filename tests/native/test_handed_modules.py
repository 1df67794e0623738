"""Array modules that are handed to functions: parameters become devices, or all stays as it is. Run beside Chainer."""

import numpy as np
import pytest
import torch

from tests.support.native_snippets import migrated, run

FUNCTIONS = """
def start(n, xp=np):
    return xp.zeros((n, 2), dtype=xp.float32) + xp.arange(2, dtype='f')

def both(xp, n):
    return start(n, xp=xp) * 2

class Shift(chainer.Function):
    def forward(self, inputs):
        xp = chainer.cuda.get_array_module(*inputs)
        return inputs[0] + both(xp, 1),
    def backward(self, inputs, gy):
        return gy[0] * start(1, chainer.cuda.get_array_module(*gy)),

def run(xs):
    x = chainer.Variable(xs[0])
    y = Shift()(x)
    F.sum(y * y).backward()
    return y.array, x.grad
"""


def same(theirs, ours):
    for a, b in zip(theirs, ours, strict=True):
        b = b.detach().numpy()
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert b.dtype == a.dtype


def test_a_parameter_becomes_a_device_with_all_its_calls():
    theirs, ours, code = run(FUNCTIONS)
    same(theirs, ours)
    assert "def start(n, device=torch.device('cpu')):" in code and "def both(device, n):" in code
    assert "return start(n, device=device) * 2" in code and "both(inputs[0].device, 1)" in code
    assert "array_module" not in code and "xp" not in code


@pytest.mark.parametrize(
    "other",
    [
        "kept = start",  # somebody else may call it
        "def more(n):\n    return start(n)",  # NumPy's arrays, by the default
        "def more(n, options):\n    return start(n, **options)",
        "def more(n, anything):\n    return start(n, anything)",
    ],
)
def test_a_call_that_hands_over_something_else_keeps_the_helper(other):
    theirs, ours, code = run(FUNCTIONS + other + "\n")
    same(theirs, ours)
    assert "def start(n, xp=np):" in code and "compat.array_module" in code


def test_a_use_without_a_form_keeps_the_helper():
    text = FUNCTIONS.replace("def both(xp, n):", "def both(xp, n):\n    assert xp.__name__")
    code = migrated(text).code
    assert "def both(xp, n):" in code and "def start(n, xp=np):" in code, "what is handed on belongs together"


def test_a_name_that_is_taken():
    theirs, ours, code = run(FUNCTIONS.replace("(xp, n):", "(xp, n, device=0):"))
    same(theirs, ours)
    assert "def both(xp_device, n, device=0):" in code and "start(n, device=xp_device)" in code


METHODS = """
class Maker:
    def make(self, x, xp):
        return xp.ones(x.shape, 'f')

class Other(Maker):
    pass

def run(xs):
    x = chainer.Variable(xs[0])
    maker = Other()
    return maker.make(x, chainer.cuda.get_array_module(x)),
"""


def test_a_method():
    theirs, ours, code = run(METHODS)
    same(theirs, ours)
    assert "def make(self, x, device):" in code and "maker.make(x, x.device)" in code


def test_a_method_that_another_class_overrides_stays():
    overriding = METHODS.replace("    pass\n", "    def make(self, x, xp):\n        return xp.zeros(x.shape, 'f')\n")
    theirs, ours, code = run(overriding)
    same(theirs, ours)
    assert "def make(self, x, xp):" in code


def test_the_first_item_of_several_arrays():
    text = """
def run(xs):
    values = [chainer.Variable(x) for x in xs]
    xp = chainer.cuda.get_array_module(*values)
    return xp.zeros(2, 'f'), xp.ones(3, 'i')
"""
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert "device = values[0].device" in code


MODEL_CALLED = """
class Noise(chainer.Chain):
    def __init__(self):
        super(Noise, self).__init__()
        with self.init_scope():
            self.fc = chainer.links.Linear(2, 2, initialW=1)

    def __call__(self, n, xp=np):
        return self.fc(chainer.Variable(xp.ones((n, 2), 'f'))) + xp.arange(2, dtype='f')

class Trainer(object):
    def __init__(self, **models):
        self.model = models['model']

    def step(self, x):
        xp = chainer.cuda.get_array_module(x.array)
        model = self.model
        return model(2, xp) * x

def run(xs):
    x = chainer.Variable(xs[0])
    model = Noise()
    y = F.sum(Trainer(model=model).step(x) + model(2, x.xp){more})
    y.backward()
    return y.array, x.grad
"""


def test_a_model_that_is_called_with_one():
    theirs, ours, code = run(MODEL_CALLED.replace("{more}", ""))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a, rtol=1e-6)
    assert "def forward(self, n, device=torch.device('cpu')):" in code and "model(2, x.device)" in code
    assert "array_module" not in code and "xp" not in code


def test_another_object_that_may_be_called_with_one_keeps_the_module():
    two = (
        MODEL_CALLED + "class Other(Noise):\n    def __call__(self, n, xp=np):\n        return xp.zeros((n, 2), 'f')\n"
    )
    more = " + globals()['Other']()(2, x.xp)"
    theirs, ours, code = run(two.replace("{more}", more))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a, rtol=1e-6)
    assert "def forward(self, n, xp=np):" in code and "array_module" in code


MAY_BE_LEFT_OUT = """
def normalized(d, xp=None):
    if xp is not None:
        return d / xp.sqrt(xp.sum(d ** 2)) + xp.ones(2, 'f')
    return d * 2

def run(xs):
    x = chainer.Variable(xs[0])
    more = normalized(x.array, chainer.cuda.get_array_module(x.array))
    y = F.sum(normalized(x) + normalized(x, None) * more)
    y.backward()
    return y.array, x.grad
"""


def test_one_that_may_be_left_out():
    theirs, ours, code = run(MAY_BE_LEFT_OUT)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a, rtol=1e-5)
    assert "def normalized(d, device=None):" in code and "if device is not None:" in code
    assert "array_module" not in code and "xp" not in code


LOSS_FUNCTION = """
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.fc = chainer.links.Linear(2, 2, initialW=1)

    def {name}(self, x, t):
        return F.sum(shifted(self.fc(x), t))

def shifted(y, t):
    xp = chainer.cuda.get_array_module(t)
    return y * (t + xp.arange(t.shape[1], dtype='f'))

def updated(lossfun, x, t):
    return lossfun(x, t)

def run(xs):
    model, x = Net(), chainer.Variable(xs[0])
    loss = globals()['updated'](x=x, t=x.array, {given})
    loss.backward()
    return loss.array, x.grad
"""


def test_a_loss_function_of_a_link_gets_tensors():
    theirs, ours, code = run(LOSS_FUNCTION.format(name="loss", given="lossfun=model.loss"))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a, rtol=1e-5)
    assert "device=t.device" in code and "array_module" not in code
    other = migrated(LOSS_FUNCTION.format(name="loss", given="kept=model.loss")).code
    assert "array_module(t)" in other


def test_a_module_that_only_makes_a_gpu_the_current_one():
    text = "    xp = chainer.cuda.get_array_module(t)\n    if xp != np:\n        xp.cuda.Device(t.device).use()\n"
    code = migrated(f"def f(t):\n{text}    return 1\n").code
    assert "if device.type != 'cpu':\n        torch.cuda.set_device(t.device)" in code


@pytest.mark.parametrize("style", ["self._use(np, 3)", "self._use(xp=np, n=3)"])
def test_numpy_that_is_handed_where_other_calls_hand_cupy_makes_tensors(style: str) -> None:
    """The function cannot take a device: its array module goes into an attribute."""
    program = f"""
class Uses:
    def _use(self, xp, n):
        self.module = xp
        made = xp.arange(n * n).reshape(n, n).astype('f')
        assert xp == chainer.backend.get_array_module(made)
        return xp.dot(made, made.T), chainer.functions.sum(chainer.Variable(made)).array

    def on_host(self):
        return {style}

    def on_gpu(self):
        return self._use(chainer.backends.cuda.cupy, 3)


def run(xs):
    return Uses().on_host()
"""
    theirs, ours, code = run(program)
    assert "compat.array_module('cpu')" in code
    for a, b in zip(theirs, ours, strict=True):
        assert isinstance(b, torch.Tensor)
        np.testing.assert_allclose(b.numpy(), a)


CLASSES = """
import unittest
from chainer import cuda

class Checks(unittest.TestCase):
    def check(self, xp):
        x = chainer.Variable(xp.array([[1.0, -2.0]], dtype=np.float32))
        y = F.relu(x)
        self.assertIsInstance(y.array, xp.ndarray)
        kinds = (xp.ndarray, list)
        assert isinstance(y.array, kinds) and not isinstance([0], xp.ndarray)
        return y.array,

    def check_on_gpu(self):
        return self.check(cuda.cupy)

def run(xs):
    link = chainer.links.Linear(2, 2)
    xp = link.xp
    return Checks().check(np) + (np.array([isinstance(xs[0], xp.ndarray)]),)
"""


def test_the_class_of_its_arrays_is_no_reason_for_the_helper():
    theirs, ours, code = run(CLASSES)
    np.testing.assert_array_equal(ours[0].numpy(), theirs[0])
    assert ours[1].tolist() == theirs[1].tolist() == [True]
    assert "def check(self, device):" in code and "self.check(torch.device('cuda'))" in code
    assert "self.assertIsInstance(y.detach(), torch.Tensor)" in code and "kinds = (torch.Tensor, list)" in code
    assert "array_module" not in code and "xp" not in code


@pytest.mark.parametrize("use", ["xp.ndarray((1, 2), dtype=xp.float32)", "xp.ndarray(2, 'f')"])
def test_the_class_of_its_arrays_that_is_called_makes_one(use):
    code = migrated(CLASSES.replace("kinds = (xp.ndarray, list)", f"kinds = (type({use}), list)")).code
    assert "torch.empty(" in code and "device=device" in code, code


EITHER_SIDE = """
from chainer import cuda

def gradient(x_data, gy):
    x = chainer.Variable(x_data)
    y = F.tanh(x)
    y.grad = gy
    y.backward()
    return x.grad

def of_gpu(x, gy):
    return gradient(cuda.to_gpu(x), cuda.to_gpu(gy))

def run(xs):
    a = np.array([[0.5, -2.0]], np.float32)
    first = gradient(a, np.ones_like(a)).copy()
    made = chainer.links.Linear(2, 2).xp.array([[0.5, -2.0]], dtype=np.float32)
    gradient(made, np.ones_like(a))
    if len(xs) > 9:
        of_gpu(a, np.ones_like(a))
    return first, gradient(made, np.ones_like(a))
"""


def test_a_variable_of_floats_of_either_side_needs_no_helper():
    theirs, ours, code = run(EITHER_SIDE.replace("np.ones_like(a)", "np.array([[1.0, 3.0]], np.float32)"))
    same(theirs, ours)
    assert "x = torch.as_tensor(x_data).detach().requires_grad_()" in code and "compat.variable" not in code


@pytest.mark.parametrize("old", ["np.array([[0.5, -2.0]], np.float32)", "np.array([[0.5, -2.0]])"])
def test_a_variable_of_what_may_be_no_float_asks(old):
    text = EITHER_SIDE.replace("first =", "gradient(np.array([[1, 2]]), None) if len(xs) > 9 else 0\n    first =")
    code = migrated(text.replace("np.array([[0.5, -2.0]], np.float32)", old)).code
    assert "x = compat.variable(x_data)" in code, code
