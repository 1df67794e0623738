"""Properties that give array modules: ``xp`` becomes ``device`` where all that is done with it has a form."""

import pytest

from tests.native.test_attribute_devices import same
from tests.support.native_snippets import migrated, run

MODEL = """
class Base(object):
    @property
    def xp(self):
        raise NotImplementedError

class Model(Base):
    def __init__(self, gpu):
        self.gpu = gpu

    @property
    def xp(self):
        if self.gpu:
            return chainer.cuda.cupy
        return np

    def noise(self, n):
        xp = self.xp
        return self.xp.arange(n, dtype='f') + xp.ones(n, 'f')

    def doubled(self, x):
        return x * 2 if self.xp is np else x

def run(xs):
    model = Model(False)
    x = chainer.Variable(xs[0])
    y = F.sum(model.doubled(x) * model.noise(2))
    y.backward()
    return y.array, x.grad, model.xp.zeros((2, 3), 'f')
"""


def test_a_property_becomes_a_device_with_all_its_places():
    theirs, ours, code = run(MODEL)
    same(theirs, ours)
    assert code.count("def device(self):") == 2
    assert "return torch.device('cuda')" in code and "return torch.device('cpu')" in code
    assert "torch.arange(n, dtype=torch.float32, device=self.device)" in code
    assert "if self.device.type == 'cpu'" in code
    assert "array_module" not in code and "xp" not in code


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return chainer.cuda.cupy if self.gpu else np", "return torch.device('cuda' if self.gpu else 'cpu')"),
        ("return self.inner.xp", "return self.inner.device"),
        ("xp = np\n        if self.gpu:\n            xp = chainer.cuda.cupy\n        return xp", "return device"),
        ("return chainer.cuda.get_array_module(self.inner.w)", "return self.inner.w.device"),
    ],
)
def test_what_a_property_gives(body, expected):
    inner = """
class Inner(object):
    def __init__(self, gpu):
        self.xp = chainer.cuda.cupy if gpu else np
        self.w = chainer.Variable(np.zeros(2, 'f'))
"""
    text = MODEL.replace("if self.gpu:\n            return chainer.cuda.cupy\n        return np", body)
    text = inner + text.replace("self.gpu = gpu", "self.gpu = gpu\n        self.inner = Inner(gpu)")
    theirs, ours, code = run(text)
    same(theirs, ours)
    assert expected in code and "array_module" not in code and "xp" not in code


@pytest.mark.parametrize(
    "other",
    [
        "def more(model):\n    return getattr(model, 'xp')",
        "def more(model):\n    return Model.xp.fget(model)",
        "class Other(Model):\n    xp = np",
        "class Other(Model):\n    def name(self):\n        return self.xp.__name__",
        "class Other(Model):\n    @Model.xp.getter\n    def xp(self):\n        return np",
        "class Other(Model):\n    @property\n    def xp(self):\n        return np\n"
        "    @xp.setter\n    def xp(self, value):\n        pass",
        "class Link(chainer.Chain):\n    @property\n    def xp(self):\n        return chainer.cuda.cupy",
        "class Both(chainer.Chain, Model):\n    pass",
        "from elsewhere import Mixin\nclass Both(Mixin, Model):\n    pass",
    ],
)
def test_a_place_without_a_form_keeps_the_helper(other):
    other = other.replace("from elsewhere import", "from chainer.utils import type_check as")
    code = migrated(f"{MODEL}if False:\n" + "".join(f"    {line}\n" for line in other.splitlines())).code
    assert "def device" not in code and "compat.array_module('cuda')" in code
