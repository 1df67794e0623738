"""Arrays end to end: programs on `xp`, NumPy and tensors, run under Chainer and, migrated, under PyTorch."""

import subprocess
import sys
import types

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_source
from tests.support.row_examples import compat_namespace

_HEAD = (
    "import numpy as np\nimport chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
    "from chainer import cuda\n\n"
)


def migrate(body, **hints):
    result = migrate_source(_HEAD + body, hints=hints)
    assert result.error is None
    return result


def load(code):
    module = types.ModuleType("migrated")
    compat = types.ModuleType("chainer_compat")
    vars(compat).update(
        {
            k: v.__func__ if isinstance(v, staticmethod) else v
            for k, v in vars(compat_namespace()).items()
            if not k.startswith("__")
        }
    )
    sys.modules["chainer_compat"] = compat
    try:
        exec(compile(code, "<migrated>", "exec"), vars(module))
    finally:
        del sys.modules["chainer_compat"]
    return module


def numbers(value):
    if isinstance(value, (tuple, list)):
        return [numbers(v) for v in value]
    if isinstance(value, chainer.Variable):
        value = value.array
    return value.detach().numpy() if isinstance(value, torch.Tensor) else value


def equal(actual, expected):
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            equal(a, e)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert np.asarray(actual).dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
    else:
        assert actual == expected


def both(body, **hints):
    """Runs ``run(x)`` of the source on a Variable and of the migrated source on a tensor; gives the migrated text."""
    result = migrate(body, **{"run.x": "tensor rank 2", **hints})
    assert "chainer" not in result.code.replace("chainer_compat", ""), result.code
    x = np.random.RandomState(0).randn(4, 3).astype("f")
    original = types.ModuleType("original")
    exec(compile(_HEAD + body, "<original>", "exec"), vars(original))
    np.random.seed(1)
    expected = original.run(chainer.Variable(x.copy()))
    np.random.seed(1)
    actual = load(result.code).run(torch.from_numpy(x.copy()).requires_grad_())
    equal(numbers(actual), numbers(expected))
    return result.code


@pytest.mark.parametrize(
    "body, texts",
    [
        # what xp makes is on the device
        (
            "xp = cuda.get_array_module(x)\nreturn x + xp.zeros(x.shape, dtype=np.float32)",
            ["xp = compat.array_module(x)", "x + xp.zeros(x.shape, dtype=np.float32)"],
        ),
        (
            "xp = x.xp\nnoise = xp.random.normal(0, 1, size=(4, 3)).astype(np.float32)\nreturn x + noise",
            ["compat.array_module(x)", ".to(torch.float32)"],
        ),
        (
            "xp = cuda.get_array_module(x)\nreturn (xp.arange(4) / 3).astype(xp.float32)",
            ["(xp.arange(4).double() / 3).to(torch.float32)"],
        ),
        (
            "xp = cuda.get_array_module(x)\na = x.array\nreturn xp.where(a > 0, a, 0), xp.concatenate([a, a], axis=1)",
            [],
        ),
        ("xp = cuda.get_array_module(x)\na = xp.zeros((3,), 'f')\nxp.add.at(a, xp.array([0, 0, 2]), 1)\nreturn a", []),
        ("xp = cuda.get_array_module(x)\nreturn [1, 2] if xp is np else [3, 4]", ["compat.on_cpu(xp)"]),
        ("xp = cuda.get_array_module(x)\nreturn [1, 2] if xp is not np else [3, 4]", ["not compat.on_cpu(xp)"]),
        ("xp = cuda.get_array_module(x.array)\nreturn xp.asarray([[1, 2]], dtype=xp.int32)", []),
        # methods of arrays
        ("return (x.array.argmax(axis=1) == np.arange(4) % 3).mean()", [".double().mean()"]),
        ("return (x.array > 0).sum(), (x.array > 0).sum(axis=1), (x.array > 0).any()", []),
        ("return x.array.max(axis=0), x.array.std(), x.array.var(axis=1)", [".amax(0)", "correction=0"]),
        ("a = x.array.copy()\na[0] = 5\na[:, 1] += 1\na.fill(2)\nreturn a, x", [".clone()", ".fill_(2)"]),
        ("x.array[...] = 3\nreturn x.array", []),
        ("a = x.array.astype(np.float32)\na += 1\nreturn a, x.array", ["copy=True"]),
        ("return x.array.astype('i'), x.array.astype(np.float64).sum(), x.array.T, x.array.size", []),
        ("return x.array.dot(x.array.T), x.array.transpose(1, 0), x.array.repeat(2, axis=0)", []),
        ("i = (x.array > 0).astype(np.int32)\nreturn i / 2, i * 0.5, i + 1, i * x.array.astype('f'), -i", []),
        ("i = x.array.argmax(axis=1)\nreturn i / i.size, i // 2, i ** 2", []),
        # indices
        (
            "return x.array[::-1], x.array[:, ::-1], x.array[::-1, ::-1], x.array[2::-1], x.array[0, ::-2]",
            [
                "torch.flip(x.detach(), (0,))",
                "torch.flip(x.detach(), (1,))",
                "compat.get_item(x.detach(), (slice(2, None, -1),))",
            ],
        ),
        (
            "i = np.array([0, 1, 1])\ny = F.stack([x, x])\nreturn y[0, :, i], y[0, :, 1], y[:, i, 1]",
            ["y[[0], :, i], y[0, :, 1]"],
        ),
        ("return x // 0.5, 3 // (x + 4)", ["torch.floor(x / 0.5)", "torch.floor(3 / (x + 4))"]),
        ("return x[:, ::-1]", ["torch.flip(x, (1,))"]),
        ("return x.array[np.array([1, 0])], x.array[x.array[:, 0] > 0], x.array[None, ..., 0]", []),
        # dtypes
        (
            "return [x.dtype == np.float32, x.array.dtype != 'float64', x.dtype.kind, x.dtype in (np.int32, np.float32)]",  # noqa: E501
            ["torch.float32", "compat.numpy_dtype(x.dtype).kind"],
        ),
        ("return np.zeros(3, dtype=x.dtype)", ["compat.numpy_dtype(x.dtype)"]),
        ("return [isinstance(x.array, np.ndarray)]", ["torch.Tensor"]),
        # host and device
        (
            "return np.sum(x.array, axis=0), np.exp(x.data), np.concatenate([x.array, np.zeros((1, 3), 'f')])",
            ["np.sum(x.detach().cpu().numpy(), axis=0)"],
        ),
        ("return np.asarray([float(v) for v in cuda.to_cpu(x.array).ravel()])", []),
        ("w = np.ones((4, 3))\nreturn x * w, w * x, x.array * w, w + x.array", []),
        (
            "return F.softmax(np.zeros((2, 3), dtype=np.float32)), F.relu(np.exp(x.array))",
            ["torch.as_tensor(np.exp(x.detach().cpu().numpy()))"],
        ),
        (
            "host = np.arange(6.0)[::-1]\nreturn host.astype('i'), host.max(axis=0)",
            ["host.astype('i'), host.max(axis=0)"],
        ),
    ],
)
def test_functions(body, texts):
    code = both("def run(x):\n    " + body.replace("\n", "\n    ") + "\n")
    for text in texts:
        assert text in code, code


def test_the_module_of_a_link():
    code = both("""class Net(chainer.Chain):
    def forward(self, x):
        mask = self.xp.ones(x.shape, dtype=self.xp.float32)
        mask[:, 0] = 0
        start = chainer.Variable(self.xp.zeros((4, 3), dtype=np.float32))
        return x * mask + start


def run(x):
    return Net()(x)
""")
    assert "compat.array_module(self).ones(x.shape, dtype=compat.array_module(self).float32)" in code


def test_host_arrays_enter_a_model():
    code = both("""class Net(chainer.Chain):
    def forward(self, x):
        return F.relu(x), x.astype('i')


def run(x):
    return Net()(np.arange(6, dtype=np.float32).reshape(2, 3) - 2)
""")
    assert "torch.as_tensor(np.arange" in code


@pytest.mark.parametrize(
    "call",
    [
        "[f(a, 2) for f in (F.max_pooling_2d, F.average_pooling_2d)]",
        "(F.max_pooling_2d if x is None else F.average_pooling_2d)(a, 3, stride=2)",
        "{'m': F.max_pooling_2d, 'a': F.average_pooling_2d}['m'](a, 2, 1, 1)",
    ],
)
def test_host_arrays_enter_functions_that_are_chosen(call):
    code = both(f"def run(x):\n    a = np.arange(50, dtype='f').reshape(1, 2, 5, 5)\n    return {call}\n")
    assert "torch.as_tensor(a)" in code


def test_host_arrays_enter_a_layer_that_gets_batches_as_well():
    """A batch may be a tuple, but what a layer is called with is a tensor or an array."""
    code = both("""class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 2, initialW=1)

    def features(self, x):
        return F.relu(self.fc(x))

    def forward(self, x, t):
        return F.softmax_cross_entropy(self.features(x), t)


def train(data):
    optimizer = chainer.optimizers.SGD()
    optimizer.setup(Net())
    iterator = chainer.iterators.SerialIterator(data, 2)
    chainer.training.Trainer(chainer.training.StandardUpdater(iterator, optimizer), (1, 'epoch')).run()


def run(x):
    return Net().features(np.arange(6, dtype=np.float32).reshape(2, 3) - 2)
""")
    assert "self.fc(torch.as_tensor(x))" in code


@pytest.mark.parametrize(
    "body",
    [
        "def make(gpu):\n    xp = cuda.cupy if gpu >= 0 else np\n    return xp.ones((2,), 'f').astype('i')\n",
        "def make(gpu):\n    if gpu >= 0:\n        xp = cuda.cupy\n    else:\n        xp = np\n"
        "    return xp.ones((2,), 'f').astype('i')\n",
        "def make(gpu):\n    xp = np if gpu < 0 else chainer.cuda.cupy\n    return xp.ones((2,), 'f').astype('i')\n",
    ],
)
def test_module_by_gpu_number(body):
    code = both(body + "\n\ndef run(x):\n    return make(-1)\n")
    assert "np if" not in code and "else np" not in code and "xp = np" not in code


def test_plain_numpy_stays():
    body = "def load(path):\n    a = np.load(path)['x'].astype(np.float32)[::-1]\n    return a.max(axis=0), np.exp(a)\n"
    assert body in migrate(body).code


def test_unknown_values_are_left_or_asked():
    body = "def f(a):\n    xp = cuda.get_array_module(a)\n    return xp.zeros(3) * a.std() + a.astype('f')[::-1]\n"
    code = migrate(body + "\n\nf(unknown())\n").code
    assert "compat.numpy_methods(a).std() + compat.astype(a, 'f')[::-1]" in code
    assert "xp = compat.array_module(a)" in code


def test_a_name_without_counterpart_is_reported():
    body = "def run(x):\n    xp = cuda.get_array_module(x)\n    return xp.fromfile('f'), xp.random.RandomState(0)\n"
    result = migrate(body, **{"run.x": "tensor"})
    assert [s.symbol for s in result.sites if s.state == "manual"] == ["xp.fromfile", "xp.RandomState"]


def test_assignment_through_a_negative_step_is_reported():
    result = migrate("def run(x):\n    x.array[::-1] = 0\n", **{"run.x": "tensor"})
    assert "manual" in [s.state for s in result.sites]


def test_twice_is_once():
    body = (
        "def run(x):\n    xp = cuda.get_array_module(x)\n"
        "    return xp.exp(x.array).astype('f').std(axis=0), np.sum(x.array)\n"
    )
    once = migrate(body, **{"run.x": "tensor"}).code
    assert migrate_source(once).code == once


def test_migrating_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import chainer2torch.engine as e; "
    subprocess.run([sys.executable, "-c", code + "e.migrate_source('import chainer')"], check=True)


def test_what_arrays_and_tensors_share_is_no_question():
    body = (
        "def run(x, gpu):\n    a = x.array if gpu else np.zeros((2, 3))\n"
        "    return a.shape, a.ndim, a.reshape(-1), a.std()\n"
    )
    result = migrate(body, **{"run.x": "tensor"})
    states = {s.symbol.split(".")[-1]: s.state for s in result.sites}
    assert {n: states[n] for n in ("shape", "ndim", "reshape")} == dict.fromkeys(("shape", "ndim", "reshape"), "exact")
    assert "numpy_methods(a).std()" in result.code and states["std"] == "exact"  # decided at run time


def test_assertions_about_dtypes_compare_dtypes_of_torch(body):
    code = body("""
        x = chainer.Variable(np.zeros((2, 3), 'f'))
        self.assertEqual(x.data.dtype, wanted)
        self.assertNotEqual(np.float32, x.dtype)
        self.assertEqual(x.shape, wanted)
        self.assertIs(x.data.dtype, other.dtype)
        self.assertIsNot(x.dtype, wanted)
        self.assertIs(x.creator, wanted)
    """)
    assert "self.assertIs(x.detach().dtype, compat.torch_dtype(other.dtype))" in code
    assert "self.assertIsNot(x.dtype, compat.torch_dtype(wanted))" in code
    assert "self.assertEqual(x.detach().dtype, compat.torch_dtype(wanted))" in code
    assert "self.assertNotEqual(torch.float32, x.dtype)" in code
    assert "self.assertEqual(x.shape, wanted)" in code


def test_astype_of_what_nobody_knows():
    """A comparison of an unknown value may be a tensor or an array: the helper looks."""
    body = (
        "def lengths(words):\n    xp = cuda.get_array_module(words)\n"
        "    n = xp.sum((words > 0).astype(xp.float32), axis=-1)\n"
        "    both = (words > 0) & (words < 2)\n"
        "    return n, both.astype('i'), both.astype(np.float64, copy=False)\n\n"
        "def run(x):\n    return globals()['lengths'](x.array)\n"
    )
    code = both(body)
    assert "compat.astype((words > 0), xp.float32)" in code and "compat.astype(both, 'i')" in code
    assert "compat.astype(both, np.float64, copy=False)" in code
    assert migrate_source(code).code == code
    host = load(code).lengths(np.ones((2, 3), "f"))
    assert [type(part) for part in host] == [np.ndarray] * 3


def test_astype_in_host_code_stays():
    assert "image.astype(np.float32)" in migrate("def load(image):\n    return image.astype(np.float32)\n").code
    result = migrate(
        "def load(image, x):\n    xp = cuda.get_array_module(x)\n    return image.astype('f', casting='safe')\n"
    )
    assert [s.state for s in result.sites if s.symbol == "?.astype"] == ["manual"]


def test_numpy_gets_a_dtype_of_its_own():
    code = both(
        "def run(x):\n    w = np.arange(3).astype(x.dtype)\n"
        "    return F.sum(np.ones((4, 3)).astype(dtype=x.dtype) * x), F.scale(x, w), w.sum(dtype=x.dtype)\n"
    )
    assert "np.arange(3).astype(compat.numpy_dtype(x.dtype))" in code
    assert "astype(dtype=compat.numpy_dtype(x.dtype))" in code and "w.sum(dtype=compat.numpy_dtype(x.dtype))" in code


def test_a_dtype_of_torch_for_what_nobody_knows():
    code = migrate("def run(x, w):\n    return w.astype(x.dtype)\n", **{"run.x": "tensor"}).code
    assert "return compat.astype(w, x.dtype)" in code
    run = load(code).run
    assert run(torch.ones(2, dtype=torch.float64), np.ones(2, "i")).dtype == np.float64
    assert run(torch.ones(2, dtype=torch.float64), torch.ones(2)).dtype == torch.float64


@pytest.mark.parametrize(
    "make, name",
    [
        ("L.Scale(W_shape=(3,))", "W"),
        ("L.Bias(shape=(3,))", "b"),
        ("L.PReLU((3,))", "W"),
        ("L.Swish((3,))", "beta"),
        ("L.Parameter(np.ones(3, 'f'))", "W"),
        ("L.Scale(W_shape=(3,), bias_term=True)", "bias.b"),
    ],
)
def test_parameters_of_every_link_can_be_read(make, name):
    body = (
        f"class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
        f"        with self.init_scope():\n            self.s = {make}\n\n    def forward(self, x):\n"
        f"        self.s.{name}.array[...] = 2\n        self.s.{name}.array = self.s.{name}.array * 3\n"
        f"        self.s.{name}.cleargrad()\n"
        f"        w = self.s.{name}\n"
        f"        return F.sum(x) * w, self.s.{name}.array, self.s.{name}.shape, self.s.{name}.array.sum()\n\n"
        "def run(x):\n    return Net()(x)\n"
    )
    code = both(body)
    assert f"self.s.{name}.detach()[...] = 2" in code and "link_attribute" not in code


@pytest.mark.parametrize(
    "expression",
    [
        "0.2 * (x.data < 0) * x",
        "(x.data < 0) * 0.2 * x",
        "F.sigmoid(x) * (0.5 * (x.data > 0))",
        "x * (1.0 - (x.data > 0))",
        "x - x.data.argmax(1)[:, None] * 0.5",
        "(x.data < 0) * 0.2",
    ],
)
def test_conditions_and_whole_numbers_times_a_number(expression):
    """NumPy computes them in float64, and a Variable beside them keeps its float32."""
    both(f"def run(x):\n    return {expression}\n")


def test_arrays_that_run_backwards_are_copied():
    code = both("""
import chainer.initializers as I

def run(x):
    fc = L.Linear(3, 2, initialW=np.arange(6).reshape(2, 3)[::-1].astype('f') / 5)
    a = np.random.RandomState(0).randn(4, 3).astype('f')
    b = a[:, ::-1]
    c = [row[::-1] for row in (a, b)]
    rnn = L.NStepRNNTanh(1, 3, 2, 0.0, initialW=0.3, initial_bias=0.1)
    filled = np.empty((2, 2), 'f')
    I.One()(filled)
    return [fc(b), fc(np.flip(a, 0)), fc(np.fliplr(a)), F.relu(a[::-1]), rnn(None, c)[1], x * b,
            chainer.Variable(b), chainer.as_variable(b), rnn(None, [r[::-1] for r in c])[0], filled]
""")
    assert "fc(torch.as_tensor(b.copy()))" in code and "torch.as_tensor(item.copy())" in code


@pytest.mark.parametrize(
    "expression",
    [
        "(m - 1).astype('f')",
        "1 - m",
        "x.data - m",
        "(m - x.data).sum()",
        "m[:, 0] - m.sum(axis=1)",
        "xp.sign(x.data) - m",
        "m.argmax(axis=1)",
        "m[0].argmin(0)",
        "m.mean(axis=0)",
        "(x.data * (m - 1)).argsort(axis=1)",
    ],
)
def test_conditions_are_counted_with(expression):
    """PyTorch refuses to subtract conditions and to look for their largest."""
    both(f"def run(x):\n    xp = cuda.get_array_module(x)\n    m = x.data > 0\n    return {expression}\n")
