"""Array modules that objects keep: ``self.xp`` becomes ``self.device`` where all that is done with it has a form."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

KEEPER = """
class Keeper(object):
    def __init__(self, model):
        self.model = model
        self.xp = model.xp

    def target(self, n):
        xp = self.xp
        return self.xp.arange(n, dtype='f') + xp.ones(n, 'f')

class Doubling(Keeper):
    def target(self, n):
        if self.xp is np:
            return self.xp.full(n, 2, 'f') * super(Doubling, self).target(n)
        return None

def run(xs):
    model = chainer.links.Linear(2, 2, initialW=1)
    keeper = Doubling(model)
    x = chainer.Variable(xs[0])
    y = F.sum(model(x) * helped(keeper, 2))
    y.backward()
    return y.array, x.grad

def helped(keeper, n):
    return keeper.target(n)
"""


def same(theirs, ours):
    for a, b in zip(theirs, ours, strict=True):
        b = b.detach().numpy()
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert b.dtype == a.dtype


def test_an_attribute_becomes_a_device_with_all_its_places():
    theirs, ours, code = run(KEEPER)
    same(theirs, ours)
    assert "self.device = next(model.parameters()).device" in code or "self.device = model.weight.device" in code
    assert "torch.arange(n, dtype=torch.float32, device=self.device)" in code
    assert "if self.device.type == 'cpu':" in code
    assert "array_module" not in code and "xp" not in code


def test_numpy_or_cupy_by_a_flag():
    text = KEEPER.replace("= model.xp", "= np if gpu < 0 else chainer.cuda.cupy").replace("model):", "model, gpu=-1):")
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert "self.device = torch.device('cpu' if gpu < 0 else 'cuda')" in code and "xp" not in code


def test_two_statements_of_known_modules():
    text = KEEPER.replace(
        "        self.xp = model.xp",
        "        if gpu >= 0:\n            self.xp = chainer.cuda.cupy\n        else:\n            self.xp = np",
    ).replace("model):", "model, gpu=-1):")
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert "self.device = torch.device('cuda')" in code and "self.device = torch.device('cpu')" in code
    assert "TODO" not in code and "xp" not in code


@pytest.mark.parametrize("where", ["", "            "])
@pytest.mark.parametrize("line", ["import cupy", "import cupy as cp"])
def test_cupy_itself_is_the_device_of_the_gpu(where, line):
    """It became the helper, under the name of a device: `torch.zeros(n, device=...)` raised on a GPU."""
    name = line.split()[-1]
    text = KEEPER.replace(
        "        self.xp = model.xp",
        f"        if gpu >= 0:\n{where and where + line}\n            self.xp = {name}\n"
        "        else:\n            self.xp = np",
    ).replace("model):", "model, gpu=-1):")
    code = migrated(text if where else f"{line}\n{text}").code
    assert "self.device = torch.device('cuda')" in code and "self.device = torch.device('cpu')" in code
    assert "cupy" not in code and "array_module" not in code


@pytest.mark.parametrize(
    "other",
    [
        "def more(keeper):\n    return getattr(keeper, 'xp')",
        "def more(keeper):\n    keeper.xp = anything()",
        "class Other(Keeper):\n    xp = np",
        "class Other(Keeper):\n    def name(self):\n        return self.xp.__name__",
        "class Link(chainer.Chain):\n    def __init__(self):\n        self.kept = [Keeper(self).xp]",
    ],
)
def test_a_place_without_a_form_keeps_the_helper(other):
    theirs, ours, code = run(KEEPER + other + "\n")
    same(theirs, ours)
    assert "self.xp = compat.array_module(" in code and "self.device" not in code


def test_a_link_keeps_its_own():
    """``self.xp`` of a model is Chainer's: only the objects that set one change."""
    text = KEEPER + "class Net(chainer.Chain):\n    def forward(self, x):\n        return x * self.xp.ones(2, 'f')\n"
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert "x * torch.ones(2, dtype=torch.float32, device=" in code and "xp" not in code


def test_an_object_that_nobody_knows_may_be_either():
    text = KEEPER + "def more(thing):\n    return thing.xp.zeros(3, 'f')\n"
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert "device=compat.device_of(thing))" in code and "xp" not in code


@pytest.mark.parametrize("taken", ["self.device = 0", "self.kept = self.device"])
def test_a_name_that_is_taken(taken):
    code = migrated(KEEPER.replace("        self.model = model", f"        self.model = model\n        {taken}")).code
    assert "self.xp_device = " in code and "device=self.xp_device)" in code


def test_numpy_and_cupy_stay_known_however_often_a_class_is_visited():
    """The kind of the attribute went up and down between the two until nothing was known of it."""
    text = """
class Maker(object):
    def __init__(self, gpu):
        if gpu:
            self.xp = chainer.cuda.cupy
        else:
            self.xp = np

    def make(self, n):
        return self.xp.zeros((n, 3), dtype='f')

def run(xs):
    return (Maker(False).make(2),)
"""
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert "torch.zeros((n, 3), dtype=torch.float32, device=self.device)" in code


OF_THE_CLASS = """
class Arrays:
    __lib = None
    size = 2

    @staticmethod
    def choose(gpu):
        if gpu >= 0:
            Arrays.__lib = chainer.cuda.cupy
        else:
            Arrays.__lib = np

    @staticmethod
    def __zeros(shape, dtype):
        return chainer.Variable(Arrays.__lib.zeros(shape, dtype=dtype))

    @staticmethod
    def zeros(shape):
        return Arrays.__zeros(shape, Arrays.__lib.float32)

    @staticmethod
    def whole(values):
        return Arrays.__lib.array(values, dtype=Arrays.__lib.int32)

def run(xs):
    Arrays.choose(-1)
    x = chainer.Variable(xs[0])
    y = F.sum((x + Arrays.zeros((1, 2))) * Arrays.whole([1, 2]).astype('f'))
    y.backward()
    return y.array, x.grad, Arrays.whole([3])
"""


def test_an_attribute_of_the_class_itself():
    theirs, ours, code = run(OF_THE_CLASS)
    same(theirs, ours)
    assert "    device = None\n" in code and "Arrays.device = torch.device('cuda')" in code
    assert "array_module" not in code and "__lib" not in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    __lib = None\n", "    __lib = None\n    other = __lib\n"),  # the body reads it
        ("    __lib = None\n", "    __lib = (None,)\n"),
        ("    size = 2\n", "    size = 2\n    def kept(self):\n        return vars(self), Arrays.__lib\n"),
    ],
)
def test_an_attribute_of_the_class_that_is_used_otherwise(old, new):
    code = migrated(OF_THE_CLASS.replace(old, new)).code
    assert "Arrays.__lib = compat.array_module('cuda')" in code
