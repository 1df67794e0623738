"""Data of which nobody knows what it is (``pickle.load``): Chainer's layers and losses take arrays, PyTorch's none."""

import pytest

from tests.support.native_snippets import migrated, run

LOADED = """
import pickle
import chainer.links as L


def load(kind):
    return pickle.loads(pickle.dumps(np.arange(6, dtype='f').reshape(2, 3) if kind == 'x' else np.array([1, 0], 'i')))


LAYER


def run(xs):
    return float(compute(load('x'), load('t')).array)
"""
LAYERS = {
    "a layer": "net = L.Linear(3, 2, initialW=0.5)\n\n\ndef compute(x, t):\n    return F.sum(net(x))",
    "a stack": "net = chainer.Sequential(L.Linear(3, 2, initialW=0.5), F.relu)\n\n\n"
    "def compute(x, t):\n    return F.sum(net(x))",
    "stacks": "net = chainer.Sequential(chainer.Sequential(L.Linear(3, 2, initialW=0.5)))\n\n\n"
    "def compute(x, t):\n    return F.sum(net(x))",
    "a loss": "net = L.Linear(3, 2, initialW=0.5)\n\n\n"
    "def compute(x, t):\n    return F.softmax_cross_entropy(net(x), t) + F.accuracy(net(x), t)",
    "a classifier": "net = L.Classifier(L.Linear(3, 2, initialW=0.5))\n\n\ndef compute(x, t):\n    return net(x, t)",
    "a class": "class Net:\n    def __init__(self):\n"
    "        self.net = chainer.Sequential(L.Linear(3, 2, initialW=0.5))\n\n"
    "    def loss(self, x, t):\n        return F.softmax_cross_entropy(self.net(x), t)\n\n\n"
    "def compute(x, t):\n    return Net().loss(x, t)",
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_takes_it(name: str) -> None:
    theirs, ours, code = run(LOADED.replace("LAYER", LAYERS[name]))
    assert ours == pytest.approx(theirs)
    assert "torch.as_tensor(x)" in code


def test_what_takes_lists_gets_what_there_is() -> None:
    text = "net = L.NStepLSTM(1, 3, 2, 0.0)\n\n\ndef compute(x):\n    return net(None, None, x)[0]\n"
    assert "as_tensor" not in migrated("import chainer.links as L\n" + text).code


def test_a_model_gets_tensors_in_it() -> None:
    text = "class Net(chainer.Chain):\n    def loss(self, y, t):\n        return F.softmax_cross_entropy(y, t)\n"
    assert "as_tensor" not in migrated("import chainer.links as L\n" + text).code
