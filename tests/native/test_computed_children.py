"""Children under computed names are links of which the kind is known: their parameters, and what reaches them."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self, n):
        super(Net, self).__init__()
        with self.init_scope():
            self.fcs = 0
            for i in range(n):
                {put}
        for i in range(n):
            self.add_link('bn{{}}'.format(i), L.BatchNormalization(2))
        for i, (name, p) in enumerate(sorted(self.namedparams())):
            p.array[...] = np.sin(np.arange(p.array.size).reshape(p.array.shape) + i)

    def __call__(self, x):
        for i in range(2):
            link = {taken}
            x = link(x) * link.b + F.sum(link.W)
            x = x * self['bn%d' % i].gamma + F.linear(x, self.fc1.W)
        return x

def run(xs):
    net = Net(2)
    net.cleargrads()
    y = net(chainer.Variable(xs[0]))
    F.sum(y).backward()
    return y.array, net.fc0.W.grad
"""


@pytest.mark.parametrize(
    ("put", "taken"),
    [
        ("setattr(self, 'fc%d' % i, L.Linear(2, 2))", "getattr(self, 'fc%d' % i)"),
        ("setattr(self, 'fc' + str(i), L.Linear(2, 2))", "self['fc{}'.format(i)]"),
        ("self.add_link('fc{}'.format(i), L.Linear(2, 2))", "getattr(self, 'fc' + str(i))"),
        ("self.add_link(f'fc{i}', L.Linear(2, 2))", "getattr(self, f'fc{i}')"),
    ],
)
def test_values_and_gradients(put, taken):
    theirs, ours, code = run(PROGRAM.format(put=put, taken=taken))
    for one, other in zip(theirs, ours):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-4, atol=1e-6)
    assert ".b\n" not in code and ".W" not in code and ".gamma" not in code


NUMBERED_BY_HAND = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l1=L.Linear(2, 2), l2=L.Linear(2, 2))
        self.l3 = 'no link'
        self.add_link('m1', L.Linear(2, 2))
        for i, (name, p) in enumerate(sorted(self.namedparams())):
            p.array[...] = np.sin(np.arange(p.array.size).reshape(p.array.shape) + i)

    def __call__(self, x):
        for i in range(1, 3):
            x = self['l%d' % i](x) + getattr(self, 'm{}'.format(1)).b
        return x

def run(xs):
    net = Net()
    net.cleargrads()
    y = net(chainer.Variable(xs[0]))
    F.sum(y).backward()
    return y.array, net.m1.b.grad
"""


def test_children_that_are_numbered_in_the_source():
    theirs, ours, code = run(NUMBERED_BY_HAND)
    for one, other in zip(theirs, ours):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-4, atol=1e-6)
    assert "getattr(self, 'm{}'.format(1)).bias" in code
