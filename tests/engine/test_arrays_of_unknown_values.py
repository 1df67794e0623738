"""Values that some call gives as an array of NumPy and another as a Variable, as the tests of a library do."""

import types
from typing import Any

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend.array_module import ArrayModule
from chainer2torch.engine import migrate_sources
from chainer2torch.vendor.compat_file import build

HEAD = "import chainer\nimport chainer.functions as F\nimport numpy as np\n\n\n"
CALLS = "from net import *\nimport numpy as np\nimport chainer\n\n\ndef test(v):\n    {}\n"


def run(body: str, calls: str) -> Any:
    """The module ``net`` of the migrated project."""
    results = migrate_sources({"net.py": HEAD + body, "use.py": CALLS.format("\n    ".join(calls.split("; ")))})
    helpers = results["net.py"].helpers
    space: dict[str, Any] = {"__name__": "net"}
    code = results["net.py"].code.replace("import chainer_compat as compat\n", "")
    if helpers:
        compat = types.ModuleType("chainer_compat")
        exec(build(helpers), compat.__dict__)
        space["compat"] = compat
    exec(code, space)
    return types.SimpleNamespace(**space)


BOTH = "f(np.zeros((2, 3), 'f')); f(chainer.Variable(v)); f(v)"
FUNCTIONS = {
    "a product": ("def f(x, a=2.0):\n    return F.softmax(a * x)\n", BOTH),
    "a sum of names": ("def f(x, a=1.0):\n    return F.sum((x + a) * a - a)\n", BOTH),
    "a sign": ("def f(x):\n    return F.exp(-x)\n", BOTH),
    "handed on": ("def g(y):\n    return F.logsumexp(2 * y, axis=1)\n\n\ndef f(x):\n    return g(x)\n", BOTH),
    "joined with an array of the module that is found": (
        "def f(x):\n    xp = chainer.backend.get_array_module(x)\n    ones = xp.ones((2, 1), dtype=x.dtype)\n"
        "    return F.concat((x, ones), axis=1)\n",
        BOTH,
    ),
    "a product with a part that is read backwards": (
        "def f(x):\n    y = F.exp(chainer.Variable(np.ones((2, 2), 'f')))\n"
        "    return 2 * y * x[:, 2:0:-1] + x[:, :0:-1]\n",
        BOTH,
    ),
    "an expression beside an array of the module that is found": (
        "def f(x):\n    xp = chainer.backend.get_array_module(x)\n    y = F.exp(x)\n"
        "    return 2 * y / xp.array([1, 2, 3]).reshape(1, 3) - xp.arange(3)\n",
        BOTH,
    ),
    "held by an object": (
        "class A:\n    def __init__(self, x, a):\n        self.x = x\n        self.a = a\n\n"
        "    def get(self):\n        return F.softmax(self.a * self.x)\n\n\ndef f(x):\n    return A(x, 2.0).get()\n",
        "A(np.zeros((2, 3), 'f'), 2.0); A(chainer.Variable(v), v); A(v, v)",
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_chainers_functions_take_what_is_computed_from_an_array(name: str) -> None:
    body, calls = FUNCTIONS[name]
    module = run(body, calls)
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 5
    from_array, from_tensor = module.f(x), module.f(torch.from_numpy(x))
    assert isinstance(from_array, torch.Tensor) and from_array.dtype == from_tensor.dtype == torch.float32
    np.testing.assert_allclose(from_array.detach().numpy(), from_tensor.detach().numpy(), rtol=1e-6)


def test_an_array_of_what_nobody_knows_goes_to_numpy_as_one() -> None:
    body = (
        "import abc\n\n\nclass D(metaclass=abc.ABCMeta):\n"
        "    @abc.abstractmethod\n    def prob(self):\n        pass\n\n"
        "    def best(self):\n        return np.argmax(self.prob.array, axis=1).astype(np.int32)\n\n"
        "    def check(self, other):\n        np.testing.assert_array_equal(self.prob.array, other.array)\n\n\n"
        "class E(D):\n    def __init__(self, x):\n        self.x = x\n\n"
        "    @property\n    def prob(self):\n        return F.softmax(self.x)\n"
    )
    module = run(body, "E(chainer.Variable(v)).best()")
    x = torch.tensor([[1.0, 3.0, 2.0], [5.0, 1.0, 0.0]], requires_grad=True)
    best = module.E(x).best()
    assert isinstance(best, np.ndarray) and best.dtype == np.int32 and best.tolist() == [1, 0]
    module.E(x).check(module.E(x).prob)


def test_an_array_that_a_function_of_the_project_unwraps_is_copied_as_one() -> None:
    body = (
        "def unwrap(x):\n    if isinstance(x, chainer.Variable):\n        return x.array\n    return x\n\n\n"
        "def f(x):\n    return unwrap(x).copy()\n"
    )
    module = run(body, BOTH)
    x = torch.ones(2, 3)
    copied = module.f(x)
    x += 1
    assert copied.tolist() == [[1.0] * 3] * 2
    assert isinstance(module.f(np.ones(2)), np.ndarray)


def test_an_array_module_is_numpy_on_the_cpu() -> None:
    assert ArrayModule("cpu") == np and ArrayModule("cpu") == ArrayModule("cpu")
    assert ArrayModule("cpu") != torch and ArrayModule("cuda:0") != np
    assert len({ArrayModule("cpu"), ArrayModule("cpu")}) == 1


def test_an_array_of_both_sides_beside_what_nobody_knows_in_a_link() -> None:
    """The arrays that MNIST is made of, sent to a GPU or not, and a direction that a method computes of itself."""
    text = (
        HEAD.replace("import chainer\n", "import chainer\nfrom chainer import cuda\n")
        + "class Net(chainer.Chain):\n    def look(self, v):\n        xp = cuda.get_array_module(v)\n"
        + "        return v / xp.sqrt(xp.sum(v ** 2))\n\n"
        + "    def loss(self, x, d):\n        d = self.look(d)\n        return F.sum(x + 10 * d)\n\n\n"
        + "def run(gpu, d):\n    net = Net()\n    train, _ = chainer.datasets.get_mnist()\n"
        + "    images, labels = train._datasets\n    batch = images[:3]\n    if gpu:\n"
        + "        batch = cuda.to_gpu(batch)\n    return net.loss(batch, d)\n"
    )
    code = migrate_sources({"net.py": text})["net.py"].code
    assert "torch.as_tensor(x) + 10 * d" in code, code
