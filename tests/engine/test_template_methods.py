"""Methods of a base that call what classes below have in its place: arrays get there, and other kinds come back."""

import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from tests.support.printed import printed, printed_by_both

_HEAD = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

X = np.linspace(-1, 1, 12, dtype='f').reshape(4, 3)
Y = np.linspace(1, -1, 8, dtype='f').reshape(4, 2)
T = np.array([0, 1, 1, 0], 'i')


def fixed(link):
    for i, (_, p) in enumerate(sorted(link.namedparams())):
        p.data[...] = np.linspace(-0.5, 0.4 + i, p.data.size).reshape(p.data.shape)
    return link


def show(value):
    print(['%.4f' % float(v) for v in np.asarray(value.data).ravel()])


"""
_PROGRAMS = {
    "losses": """
class Job:
    def __init__(self):
        self.model = fixed(L.Linear(3, 2))
        self.opt = chainer.optimizers.SGD(0.5)
        self.opt.setup(self.model)

    def loss(self, x, t):
        return F.mean_squared_error(self.model(x), t)

    def step(self, x, t):
        self.opt.update(self.loss, x, t)
        show(self.loss(x, t))


class Labels(Job):
    def loss(self, x, t):
        return F.softmax_cross_entropy(self.model(x), t)


Job().step(X, Y)
Labels().step(X, T)
""",
    "several results": """
class Base(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2)

    def encode(self, x):
        return self.l(x)

    def loss(self, x, t):
        out = self.encode(x)
        if isinstance(out, tuple):
            out = out[0] + out[1]
        return F.mean_squared_error(out, t)


class Two(Base):
    def encode(self, x):
        h = self.l(x)
        return h, F.sigmoid(h)


for made in (Base, Two):
    show(fixed(made()).loss(X, Y))
""",
    "arrays or variables": """
class Base:
    def prepared(self, x):
        return x * 2

    def run(self, x):
        h = self.prepared(x)
        return F.sum(h * h, axis=1)


class Variables(Base):
    def prepared(self, x):
        return chainer.Variable(x) + 1


class Host(Base):
    def prepared(self, x):
        return np.sqrt(np.abs(x))


for made in (Base, Variables, Host):
    show(made().run(X))
""",
    "lists": """
class A:
    def features(self, x):
        return [x]

    def run(self, x):
        return F.concat(self.features(x), axis=1)


class B(A):
    def features(self, x):
        return super().features(x) + [chainer.Variable(x)]


show(A().run(X))
show(B().run(X))
""",
    "batches of other kinds": """
class Pairs(chainer.dataset.DatasetMixin):
    def __len__(self):
        return 4

    def get_example(self, i):
        return self.item(i)

    def item(self, i):
        return X[i], T[i]


class Single(Pairs):
    def item(self, i):
        return X[i]


for made in (Pairs, Single):
    for batch in chainer.iterators.SerialIterator(made(), 2, repeat=False, shuffle=False):
        arrays = chainer.dataset.concat_examples(batch)
        if isinstance(arrays, tuple):
            x, t = arrays
            show(chainer.Variable(x))
            show(chainer.Variable(t))
        else:
            show(chainer.Variable(arrays))
""",
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_other_classes_are_heard(name, style):
    program = _HEAD + _PROGRAMS[name]
    assert len(set(printed_by_both(program, style).splitlines())) > 1


def test_the_parts_of_a_loaders_batch_are_a_list():
    result = migrate_source(_HEAD + _PROGRAMS["batches of other kinds"], rules=load_rules(style="native", lazy=True))
    assert "isinstance(arrays, (tuple, list))" in result.code


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_so_they_are_in_a_function_that_gets_the_batch(style):
    program = (
        _HEAD
        + """
model = L.Classifier(fixed(L.Linear(3, 2)))


def step(arrays, model):
    if isinstance(arrays, tuple):
        return model(*arrays)
    return model(arrays)


def run(batches):
    for batch in batches:
        arrays = chainer.dataset.concat_examples(batch)
        show(step(arrays, model))
        show(step(arrays, model))


run(chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(X, T), 2, repeat=False, shuffle=False))
"""
    )
    assert len(printed_by_both(program, style).splitlines()) == 4


@pytest.mark.parametrize("form", ["self.n = n", "self.n = n\n        self.m = 3"])
def test_a_size_that_an_attribute_may_not_have(form):
    source = f"""
import numpy as np
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n=None):
        super().__init__()
        {form}
        with self.init_scope():
            self.l = L.Linear(self.n, 2)

    def __call__(self, x):
        return self.l(x)


def run(*n):
    return Net(*n)(np.ones((4, 3), 'f'))


known = Net(3)
"""
    result = migrate_source(source, rules=load_rules(style="native", lazy=True))
    assert result.error is None
    names: dict = {}
    printed(result.code, "native", result.helpers, names)
    assert [tuple(names["run"](*n).shape) for n in [(), (3,)]] == [(4, 2), (4, 2)]
    assert isinstance(names["known"], torch.nn.Module)
    assert np.shape(names["known"].l.weight) == (2, 3)


_OWN_PROPERTY = """
class Held:
    def __init__(self, value):
        self.value = value

    @property
    def held(self):
        return self.value


def work(x):
    class Listed(Held):
        @property
        def held(self):
            return [super().held]

    found = Listed(F.relu(x).array[0, 2]).held[0]
    box = collections.defaultdict(list)
    box['k'].append(found)
    found = box['k'][-1]
    print([found])
    best = min(9.0, found)
    print(best)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_property_that_asks_that_of_its_base(style):
    result = migrate_source("import collections\n" + _HEAD + _OWN_PROPERTY, rules=load_rules(style=style, lazy=True))
    called = "\n\nwork(torch.as_tensor(X))\n"
    assert "tensor" not in printed(result.code + called, style, result.helpers)
