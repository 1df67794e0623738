"""What a Trainer program calls: a model with `__call__` and `forward` is called by the first, as in Chainer."""

import numpy as np
import pytest

from tests.support.native_programs import both

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
