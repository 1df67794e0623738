"""What a Trainer program calls: a model with `__call__` and `forward` is called by the first, as in Chainer."""

import numpy as np
import pytest

from tests.support.native_programs import both
from tests.support.native_snippets import migrated, run

PROGRAM = """
import json
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Base(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 2, initialW=np.arange(6, dtype='f').reshape(2, 3) / 6)

    CALLED


class Net(Base):
    def forward(self, x):
        return self.l1(x)

    OWN


def data():
    rng = np.random.RandomState(0)
    return chainer.datasets.TupleDataset(rng.randn(8, 3).astype('f'), rng.randint(0, 2, 8).astype('i'))


def run(out):
    model = Net()
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(), 4, shuffle=False)
    gpu = int('-1')
    updater = training.StandardUpdater(train_iter, optimizer, device=gpu)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    trainer.extend(extensions.LogReport())
    trainer.run()
    with open(out + '/log') as log:
        return [entry['main/loss'] for entry in json.load(log)]
"""
METHOD = """def __call__(self, x, t):
        loss = F.softmax_cross_entropy(self.forward(x), t)
        chainer.report({'loss': loss}, self)
        return loss"""


@pytest.mark.parametrize("place", ["CALLED", "OWN"])
def test_call_hides_forward(place, tmp_path):
    source = PROGRAM.replace(place, METHOD).replace("    CALLED\n", "").replace("    OWN\n", "")
    theirs, ours, code = both(source, head="")
    assert "for x, t in train_iter:" in code and "model(x.to(device), t.to(device))" in code, code
    np.testing.assert_allclose(ours["run"](str(tmp_path / "b")), theirs["run"](str(tmp_path / "a")), rtol=2e-5)


LINE = """
import inspect
import chainer.links as L


class Base(chainer.Chain):
    def __init__(self, scale=0.5):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(2, 2, initialW=scale, initial_bias=0.25)

    def __call__(self, x):
        return F.sigmoid(self.forward(x)) + 1


class Net(Base):
    def forward(self, x):
        return self.fc(x)


class Other(Base):
    def __call__(self, x, twice=True):
        y = super().__call__(x)
        return y * 2 if twice else y

    def forward(self, x):
        return self.fc(x) * 3


class Plain(Base):
    def __call__(self, x):
        return self.fc(x) - 1


def run(xs):
    nets = [Net(), Other(), Plain(0.25)]
    asked = [str(inspect.signature(Other())), str(inspect.signature(Other().__call__))]
    return [float(F.sum(net(chainer.Variable(xs[0]))).array) for net in nets] + asked
"""


def test_the_call_of_a_base_is_not_hidden_by_the_forward_of_its_heir():
    """As `forward` it would be: the heir's ran instead, without a word."""
    theirs, ours, code = run(LINE)
    np.testing.assert_allclose(ours[:3], theirs[:3], rtol=1e-5)
    assert ours[3:] == theirs[3:]
    assert code.count("def __call__(self") == 3 and "# TODO" not in code, code


def test_classes_apart_from_it_have_their_call_as_forward():
    code = migrated(
        LINE + "\n\nclass Apart(chainer.Chain):\n    def __call__(self, x):\n        return x\n"
        "\n\nclass Below(Apart):\n    def __call__(self, x):\n        return super().__call__(x)\n"
    ).code
    assert code.count("def __call__(self") == 3 and "return super().forward(x)" in code
