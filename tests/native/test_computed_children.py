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


TWO_ROWS = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.conv_0 = L.Convolution2D(1, 1, 1)
        for i in range(2):
            self.add_link('fc{}_w'.format(i), L.Linear(2, 2))
            self.add_link('fc{}_n'.format(i), L.LayerNormalization(2))
            self.add_link('conv%d_%d' % (i, i), L.Linear(2, 2))

    def __call__(self, x):
        for i in range(2):
            x = getattr(self, 'fc%d_n' % i)(self['fc%d_w' % i](x))
            x = x + getattr(self, 'fc{}_n'.format(i)).gamma + getattr(self, 'fc{}_w'.format(i)).b
        kind = 'conv'
        return getattr(self, kind + '_0').W, getattr(self, 'conv{}'.format('_0')).stride, x

def run(xs):
    w, stride, x = Net()(chainer.Variable(xs[0]))
    return w.shape, stride, x.shape
"""


def test_ends_of_names_tell_links_apart():
    theirs, ours, code = run(TWO_ROWS)
    assert (tuple(ours[0]), ours[1], tuple(ours[2])) == theirs
    assert "compat.link_attribute" not in code.partition("kind = ")[0], code


NOBODY_KNOWS = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self, names):
        super(Net, self).__init__()
        for i in range(2):
            self.add_link('c%d' % i, L.Linear(2, 2))
        for name in names:
            self.add_link(name, L.Convolution2D(2, 2, 1))

    def __call__(self, x):
        return self['c%d' % 2](F.reshape(x, (1, 2, 1, 1)))

def run(xs):
    return Net(['c2'])(chainer.Variable(xs[0])).shape
"""


def test_a_name_of_which_nothing_is_known_may_be_any():
    theirs, ours, code = run(NOBODY_KNOWS)
    assert tuple(ours) == theirs, code


ASKED = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self, heads):
        super(Net, self).__init__()
        with self.init_scope():
            for head in heads:
                self.__setattr__(head, L.Linear(2, heads[head]))
        self.heads = heads

    def __call__(self, x):
        return [self.__getattribute__(head)(x) for head in self.heads]

def run(xs):
    return [y.shape for y in Net({'a': 2, 'b': 3})(chainer.Variable(xs[0]))]
"""


def test_children_are_found_by_getattribute():
    theirs, ours, code = run(ASKED)
    assert [tuple(shape) for shape in ours] == theirs, code
