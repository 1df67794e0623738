"""Classes with a ``disable_update`` of their own, which takes arguments and hands them on."""

import numpy as np

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


class Block(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Linear(2, 2, initialW=0.5)
            self.bias = L.Bias(1, (2,))

    def forward(self, x):
        return F.tanh(self.bias(self.conv(x)))

    def disable_update(self, conv, bias):
        if conv:
            self.conv.disable_update()
        if bias:
            self.bias.disable_update()


class Stack(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = Block()
            self.b0 = Block()
            self.b1 = Block()

    def forward(self, x):
        return self.b1(self.b0(self.a(x)))

    def disable_update(self, conv=True, bias=True):
        self.a.disable_update(conv, bias)
        for i in range(2):
            self['b{}'.format(i)].disable_update(not conv, bias)


def run(xs):
    model = Stack()
    optimizer = chainer.optimizers.MomentumSGD(lr=0.5)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.WeightDecay(0.01))
    model.disable_update(True, True)
    for _ in range(3):
        model.cleargrads()
        F.sum(model(np.ones((1, 2), 'f')) ** 2).backward()
        optimizer.update()
    return [float(p.array.sum()) for link in (model.a, model.b0, model.b1) for p in (link.conv.W, link.bias.b)]
"""


def test_the_optimizer_stays_one_of_torch():
    theirs, ours, code = run(PROGRAM)
    assert "compat.MomentumSGD(model.parameters(), lr=0.5" in code, code
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert theirs[0] == 2 and theirs[2] != 2 and theirs[1] == theirs[3] == 0
