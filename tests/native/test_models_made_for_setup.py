"""``optimizer.setup(Net())``: the model is made once, whoever asks the optimizer for it."""

import numpy as np
import pytest

from tests.support.native_snippets import run

NET = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2, initialW=0.5)

    def forward(self, x):
        return F.sum(self.l(x) ** 2)


def make():
    return chainer.optimizers.Adam(alpha=0.1)


def train(optimizer, xs):
    for x in xs:
        optimizer.target.cleargrads()
        optimizer.target(x).backward()
        optimizer.update()
    return [float(optimizer.target.l.W.array.sum()), float(optimizer.target.l.b.array.sum())]


"""
MADE = {
    "a statement": "    optimizer = chainer.optimizers.Adam(alpha=0.1)\n    optimizer.setup(Net())\n",
    "behind others": (
        "    optimizer = chainer.optimizers.Adam(alpha=0.1)\n    xs = list(xs)\n    optimizer.setup(Net().copy())\n"
    ),
    "a value": "    optimizer = chainer.optimizers.Adam(alpha=0.1).setup(Net())\n",
    "made elsewhere": "    optimizer = make()\n    optimizer.setup(Net())\n",
    "with a hook": (
        "    optimizer = chainer.optimizers.Adam(alpha=0.1)\n    optimizer.setup(Net())\n"
        "    optimizer.add_hook(chainer.optimizer.WeightDecay(0.1))\n"
    ),
}


@pytest.mark.parametrize("how", MADE)
def test_the_model_is_made_once(how):
    theirs, ours, _ = run(NET + "def run(xs):\n" + MADE[how] + "    return train(optimizer, xs)\n")
    assert np.allclose(theirs, ours, rtol=1e-5)
