"""What is known of an array module: NumPy's own, that of a device, or one that shows only when the program runs."""

import ast
import textwrap

import numpy as np
import pytest
import torch

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kind_specs import describe
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from tests.engine.test_arrays import load, migrate
from tests.support.both_sides import both

_PARTS = ["instance xp.Random", "instance xp.LinearAlgebra"]
CHOICES = {
    "NumPy": ("xp = np", ["numpy", "numpy.random", "numpy.linalg"]),
    "CuPy": ("xp = cuda.cupy", ["chainer.backends.cuda.cupy", *_PARTS]),
    "of a variable": ("xp = cuda.get_array_module(F.relu(x))", ["instance xp.Module", *_PARTS]),
    # a value that may be either: the module is xp.Either, of which less is known
    "of an unknown value": (
        "xp = cuda.get_array_module(x)",
        ["instance xp.Either", "instance xp.EitherRandom", "instance xp.EitherLinearAlgebra"],
    ),
    "expression": ("xp = cuda.cupy if gpu >= 0 else np", ["instance xp.Module", *_PARTS]),
    "reversed": ("xp = np if gpu < 0 else cuda.cupy", ["instance xp.Module", *_PARTS]),
    "statement": ("if gpu >= 0:\n    xp = cuda.cupy\nelse:\n    xp = np", ["instance xp.Module", *_PARTS]),
}


@pytest.mark.parametrize("name", CHOICES)
def test_kind(name):
    choice, expected = CHOICES[name]
    text = (
        "import numpy as np\nimport chainer.functions as F\nfrom chainer import cuda\ndef f(x, gpu):\n"
        + textwrap.indent(choice, "    ")
        + "\n    show(xp, xp.random, xp.linalg)\n"
    )
    source = Source(text, ast.parse(text))
    analysis = Analysis(Project({"main.py": source}), load_rules()).run()
    call = next(n for n in source.nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "show")
    shown = [describe(analysis.kind(argument)) for argument in call.args]
    assert shown == expected


@pytest.mark.parametrize("name", ["expression", "reversed", "statement"])
def test_a_choice_runs_on_the_cpu(name):
    """`xp` stays one object for both cases: what it makes and computes on the CPU has NumPy's values and dtypes."""
    body = (
        "def run(gpu):\n" + textwrap.indent(CHOICES[name][0], "    ") + "\n"
        "    xp.random.seed(0)\n    a = xp.random.rand(2, 3)\n"
        "    return a, xp.zeros((2,), 'f'), xp.linalg.norm(a), xp.concatenate([a, a]).sum(axis=1).astype('i')\n"
    )
    result = migrate(body)
    assert not [site for site in result.sites if site.state == "manual"]
    found = load(result.code).run(-1)
    np.random.seed(0)
    a = np.random.rand(2, 3)
    for actual, expected in zip(
        found, (a, np.zeros(2, "f"), np.linalg.norm(a), np.concatenate([a, a]).sum(axis=1).astype("i")), strict=True
    ):
        assert isinstance(actual, torch.Tensor) and str(actual.dtype)[6:] == str(expected.dtype)
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


def test_the_module_of_an_unknown_value():
    """Values and dtypes are the same for a host array and for a tensor, which gives tensors."""
    body = (
        "def run(a):\n    xp = cuda.get_array_module(a)\n"
        "    return xp.exp(a), xp.zeros(a.shape, 'f'), xp.maximum(a, 0.5), xp.concatenate([a, a], axis=1)\n\n\n"
        "run(unknown)\n"
    )
    code = migrate(body).code
    assert "xp = compat.array_module(a)" in code
    run = load(code.replace("run(unknown)\n", "")).run
    host = np.random.RandomState(0).randn(3, 2).astype("f")
    expected = np.exp(host), np.zeros((3, 2), "f"), np.maximum(host, 0.5), np.concatenate([host, host], axis=1)
    for value in (host, torch.from_numpy(host)):
        for actual, wanted in zip(run(value), expected, strict=True):
            assert np.asarray(actual).dtype == wanted.dtype
            np.testing.assert_allclose(np.asarray(actual), wanted, rtol=1e-6)
    assert all(isinstance(part, torch.Tensor) for part in run(torch.from_numpy(host)))


def test_results_that_go_into_an_array_in_a_function_of_ones_own():
    original, migrated = both("""
        from chainer import cuda


        class Soft(chainer.Function):
            def forward(self, inputs):
                x, = inputs
                xp = cuda.get_array_module(x)
                m = x.max(axis=1, keepdims=True)
                y = x - m
                xp.exp(y, out=y)
                xp.maximum(y, 0.25, dtype=y.dtype, out=y)
                self.y = y
                return xp.log(y.sum(axis=1, keepdims=True)) + m,

            def backward(self, inputs, gy):
                g = self.y * gy[0]
                cuda.get_array_module(g).square(g, out=g)
                return g,


        def run(x):
            x = chainer.Variable(x)
            y = Soft()(x)
            F.sum(y).backward()
            return [y.data, x.grad]
        """)
    x = np.random.RandomState(0).randn(3, 4).astype("f")
    assert "xp.exp(y, out=y)" in migrated["__code__"]
    for theirs, ours in zip(original["run"](x.copy()), migrated["run"](x.copy()), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("load", "is_array"),
    [
        ("x = np.load(d + '/x.npy')\nprint(x)", True),
        ("x = np.load('{}.npy'.format(d))\nprint(x)", True),
        ("z = np.load(d)\nx = z - 1", True),
        ("x = np.load(d).astype('f')", True),
        ("z = np.load(d)\nprint(z['a'])\nx = z - 1", False),
        ("z = np.load(d)\nz.files\nx = z - 1", False),
        ("z = np.load(d, allow_pickle=True)\nx = z - 1", False),
        ("x = np.load(d + '/x.npz')", False),
        ("z = np.load(d)\nw = np.maximum(z, 0)\nfor i in range(len(z)):\n    print(i)\nx = z - 1", True),
        ("z = np.load(d)\nother(z)\nx = z - 1", False),
    ],
)
def test_a_file_of_one_array_gives_an_array(load, is_array):
    text = "import chainer\nimport chainer.functions as F\nimport numpy as np\ndef f(d):\n    {}\n    return g(x)\n"
    use = "def g(y):\n    return F.relu(y)\n"
    code = migrate_source(text.format(load.replace("\n", "\n    ")) + use).code
    assert ("F.relu(torch.as_tensor(y))" in code) is is_array, code


def test_one_array_is_joined_along_its_first_axis():
    """Version 1 to 4 of Chainer takes it for a list of its parts."""
    text = "import chainer.functions as F\nimport numpy as np\n\n\ndef f():\n    x = np.ones((2, 3, 4), 'f')\n"
    code = migrate_source(text + "    return F.concat(x), F.stack(F.relu(x))\n").code
    space = {}
    exec(code, space)
    joined, stacked = space["f"]()
    assert joined.shape == (3, 8) and stacked.shape == (2, 3, 4)


def test_a_part_of_the_examples_of_a_data_set_is_an_array_whatever_it_was():
    """A batch of tuples is a tuple of arrays: a copy of a part whose examples nobody knows is that of an array."""
    code = migrate_source(
        """
import chainer
import numpy as np
from outside import read

class Data(chainer.dataset.DatasetMixin):
    def __len__(self):
        return 4
    def get_example(self, i):
        return read(i), np.zeros(3, 'f')

class Net(chainer.Chain):
    def forward(self, x, t):
        y = x.copy()
        y[0] = 1
        return chainer.functions.sum(y * t.copy())

model = Net()
optimizer = chainer.optimizers.SGD()
optimizer.setup(model)
updater = chainer.training.updaters.StandardUpdater(chainer.iterators.SerialIterator(Data(), 2), optimizer)
"""
    ).code
    assert "y = x.clone()" in code and "t.clone()" in code and "TODO" not in code, code
