"""A child that a link looks up by a computed name is asked for its scale or bias by torch's names."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1 = L.Linear(2, 4, initialW=0.5, initial_bias=0.25)
            self.bn1 = L.BatchNormalization(4, initial_gamma=2, initial_beta=3)
        layers = list(self._children)
        self.bns = [layer for layer in layers if 'bn' in layer]

    def __call__(self, x):
        total = F.sum(self.bn1(self.c1(x)))
        for layer in self.bns:
            {body}
        return total


def run(xs):
    net = Net()
    x = chainer.Variable(np.concatenate([xs[0], xs[0] + 1]))
    y = net(x)
    net.cleargrads()
    y.backward()
    return [float(y.array), net.bn1.beta.grad.sum().item(), net.bn1.gamma.grad.sum().item()]
"""
BODIES = {
    "again": "layer = getattr(self, layer)\n            gamma = layer.gamma\n            total += F.sum(gamma)",
    "a variable": "link = getattr(self, layer)\n            total += F.sum(F.absolute(link.gamma)) + F.sum(link.beta)",
    "at once": "total += F.sum(F.absolute(getattr(self, layer).gamma))",
}


@pytest.mark.parametrize("name", BODIES)
def test_scales_of_children(name):
    theirs, ours, code = run(PROGRAM.format(body=BODIES[name]))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4, err_msg=code)
