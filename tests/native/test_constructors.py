"""Classes of links without a constructor take their links from callers; links without parameters have a device, too."""

import numpy as np

from tests.support.native_snippets import run

GIVEN = """
import chainer.links as L


class Pair(chainer.Chain):
    def forward(self, x):
        return self.second(self.first(x))


class Branches(chainer.ChainList):
    def forward(self, x):
        return [link(x) for link in self]


class Mixin(object):
    def __init__(self, *links):
        super(Mixin, self).__init__(*links)
        self.count = len(links)


class Mixed(Mixin, chainer.ChainList):
    pass


class Own(chainer.ChainList):
    def __init__(self, n):
        super(Own, self).__init__(L.Linear(2, n), L.Linear(2, n))


def make(cls, *links):
    return cls(*links)


def linear(value):
    return L.Linear(2, 2, initialW=value)


def run(xs):
    x = chainer.Variable(np.ones((1, 2), 'f'))
    pair, branches = Pair(first=linear(2), second=linear(3)), make(Branches, linear(1), linear(4))
    mixed = Mixed(linear(1))
    return [np.array(y.array) for y in (pair(x), *branches(x), mixed[0](x))] + [mixed.count, len(mixed), len(Own(3))]
"""

STATISTICS = """
class Centred(chainer.Link):
    def __init__(self, mean):
        super(Centred, self).__init__()
        self.add_persistent('mean', mean)

    def forward(self, x):
        xp = self.xp
        return x - xp.asarray(self.mean) * xp.ones(2, 'f')


def run(xs):
    return [np.array(Centred(np.array([1, 2], 'f'))(chainer.Variable(np.zeros((3, 2), 'f'))).array)]
"""


def equal(program):
    theirs, ours, code = run(program)
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    return code


def test_links_come_from_callers():
    code = equal(GIVEN)
    assert "class Pair(compat.Chain):" in code and "class Branches(compat.ChainList):" in code
    assert "class Own(nn.ModuleList):" in code


def test_a_link_without_parameters_has_a_device():
    """That of its input."""
    assert "device = x.device" in equal(STATISTICS)


REPEATED = """
import chainer.links as L


class Heads(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.heads = L.Linear(3, 3, initialW=2).repeat(3)
            self.out = L.Linear(3, 3, initialW=3).repeat(2, mode='copy')

    def project(self, head, x):
        return head(x, n_batch_axes=2)

    def forward(self, x):
        first, second = [self.project(head, x) for head, _ in zip(self.heads, 'ab')]
        return first + self.heads[-1](second, n_batch_axes=2), self.out(x[0])


class Offset(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.offset = np.arange(3, dtype='f')
        self.place = self.device

    def forward(self, x):
        offset = chainer.Variable(self.offset)
        offset.to_device(self.device)
        return x + F.broadcast_to(offset, x.shape)


def run(xs):
    x = chainer.Variable(np.arange(12, dtype='f').reshape(2, 2, 3))
    first, second = Heads()(x)
    return [np.array(y.array) for y in (first, second, Offset()(x))] + [len(list(Heads().params()))]
"""


def test_copies_of_a_layer_and_a_link_that_holds_arrays_only():
    code = equal(REPEATED)
    assert "nn.Sequential(*(" in code and "compat.device_of(self)" in code
