"""Arrays of the host that tensors index: a tensor of one element is an array there, not a number."""

import numpy as np

from tests.support.native_snippets import run

PROGRAM = """
class Table:
    def __init__(self, ids):
        self.ids = ids

    def pick(self, mask):
        return self.ids[mask]


def run(xs):
    names, table = np.array(['cat', 'dog', 'bird']), np.arange(6).reshape(2, 3)
    y = F.softmax(xs[0])
    pred = y.array.argmax(axis=1)
    high = y.array[:, 0] > 0.5
    counts = np.zeros(2, 'i')
    counts[pred] += 1
    ids = Table(np.array([7]))
    return [names[pred], table[pred], table[:1][high], table[:1][y.array[:, 0] < 0.5], ids.pick(high), counts]
"""


def test_an_index_of_one_element_keeps_the_axis():
    """NumPy takes such a tensor for a number, and a mask of one element for 0 or 1."""
    theirs, ours, code = run(PROGRAM)
    assert "names[pred.cpu().numpy()]" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        assert np.shape(found) == np.shape(expected) and (np.asarray(found) == expected).all()


NAMED = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2, initialW=0.5)

    def forward(self, x, t=None):
        return F.sum(self.l(x)) if t is None else F.softmax_cross_entropy(self.l(x), t)


def call(net, args, named):
    return net(*args, **named)


def run(xs):
    x, t = np.ones((2, 2), 'f'), np.zeros(2, 'i')
    net = Net()
    return [float(v.array) for v in (call(net, (x,), {}), call(net, (x,), {'t': t}), call(net, (x, t), {}))]
"""


def test_arrays_in_a_dictionary_that_a_model_gets_by_name():
    theirs, ours, _ = run(NAMED)
    assert np.allclose(theirs, ours)


SCALER = """
class Scaler(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.places = self.spread = None

    def fit(self, x, places):
        if isinstance(places, list):
            places = np.asarray(places)
        self.places = places
        self.spread = self.xp.std(chainer.Variable(x).array, axis=0)

    def used(self):
        return self.places[self.spread != 0]


def run(xs):
    scaler, found = Scaler(), []
    for column in (np.ones((3, 1), 'f'), np.arange(3).reshape(3, 1).astype('f')):
        scaler.fit(column, [4])
        found.append(scaler.used())
    return found
"""


def test_a_mask_of_an_attribute_that_may_be_an_array_of_the_host():
    theirs, ours, _ = run(SCALER)
    assert [list(map(int, v)) for v in ours] == [list(v) for v in theirs] == [[], [4]]
