"""``super().forward(x)`` in a class on a layer gives what the layer gives."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


class Renormalized(L.BatchRenormalization):
    def forward(self, x, finetune=False):
        return super(Renormalized, self).forward(x, finetune=finetune)


class Scaled(L.Linear):
    def forward(self, x):
        return super().forward(x) * 2


class Stack(chainer.Sequential):
    def forward(self, x):
        return super().forward(x)


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        w = np.arange(6, dtype='f').reshape(3, 2)
        with self.init_scope():
            self.renormalized = Renormalized(2)
            self.scaled = Scaled(2, 3, initialW=w)
            self.stack = Stack(L.Linear(2, 3, initialW=w), F.relu)
            self.last = chainer.Sequential(L.Linear(2, 2, initialW=w[:2]), Renormalized(2))

    def forward(self, x):
        y = self.{name}(x)
        rows, columns = y.shape
        y = y.reshape((rows, columns, 1)) + 1
        return y.transpose((1, 0, 2)), y.array.argmax(axis=1)


def run(xs):
    y, best = Net()(chainer.Variable(np.arange(8, dtype='f').reshape(4, 2)))
    return y.array, best
"""


@pytest.mark.parametrize("name", ["renormalized", "scaled", "stack", "last"])
def test_what_a_layer_of_ones_own_gives_is_a_tensor(name: str) -> None:
    theirs, ours, code = run(PROGRAM.format(name=name))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-5)
    assert "y.permute((1, 0, 2)), y.argmax(1)" in code or "y.permute((1, 0, 2)), y.detach().argmax(1)" in code, code
