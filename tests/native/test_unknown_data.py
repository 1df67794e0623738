"""Data of which nobody knows what it is (``pickle.load``): Chainer's layers and losses take arrays, PyTorch's none."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
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


@pytest.mark.parametrize(
    "layer, call",
    [
        ("L.NStepLSTM(1, 3, 2, 0.0)", "net(None, None, load())[0]"),
        ("L.StatelessLSTM(3, 2)", "net(load(), load(), load())[0]"),  # the first state may be None
        ("L.CRF1d(3)", "net(load(), load())"),
    ],
)
def test_lists_and_states_stay_what_they_are(layer: str, call: str) -> None:
    text = (
        f"import pickle\n\n\ndef load():\n    return pickle.load(open('a', 'rb'))\n\n\nnet = {layer}\n\n\ny = {call}\n"
    )
    assert "as_tensor" not in migrated("import chainer.links as L\n" + text).code


MODEL = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.layer = LAYER

    def forward(self, x):
        return BODY


model = L.Classifier(Net())


def compute(x, t):
    return model(x, t)
"""


@pytest.mark.parametrize(
    "layer, body, made",
    [
        ("L.Linear(3, 2)", "F.relu(self.layer(x))", True),
        ("L.NStepLSTM(1, 3, 2, 0.0)", "self.layer(None, None, x)[0][0]", False),
        ("L.Linear(3, 2)", "self.layer(F.concat(x))", False),
    ],
)
def test_a_classifier_of_a_model_that_takes_lists_gets_them(layer: str, body: str, made: bool) -> None:
    code = migrated(MODEL.replace("LAYER", layer).replace("BODY", body)).code
    assert ("torch.as_tensor(t)" in code) == made


def test_a_model_gets_tensors_in_it() -> None:
    text = "class Net(chainer.Chain):\n    def loss(self, y, t):\n        return F.softmax_cross_entropy(y, t)\n"
    assert "as_tensor" not in migrated("import chainer.links as L\n" + text).code


def test_what_an_earlier_run_wrote_stays():
    source = """
import torch
import torch.nn.functional as F
import chainer.links as L


class Net:
    def __init__(self, other):
        self.conv, self.other = L.Convolution2D(3, 4, 3), other

    def __call__(self, x):
        return self.conv(F.max_pool2d(self.other(x), 2))
"""
    assert "self.conv(F.max_pool2d(" in migrated(source).code


def test_arrays_that_an_earlier_run_made_tensors_stay():
    source = """import torch
from externals.chainer_stylegan import net


def load(gen, values):
    gen.fc.W.array[:] = torch.as_tensor(values['w'])
"""
    assert migrate_source(source, rules=load_rules(style="native", lazy=True)).code == source
    again = source.replace("torch.as_tensor(values['w'])", "values['w']")
    assert migrate_source(again, rules=load_rules(style="native", lazy=True)).code == source
