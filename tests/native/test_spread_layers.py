"""``layers = {}; if bn: layers['bn'] = ...; super().__init__(**layers)``: children that only some ways put there."""

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import HEAD, check

BLOCK = """
class Block(chainer.Chain):
    def __init__(self, n, size, sample='down', bn=True, depth=2):
        layers = {}
        self.bn, self.depth = bn, depth
        if sample == 'down':
            layers['c'] = L.Convolution2D(n, 4, 4, 2, 1)
        elif sample == 'up':
            layers['c'] = L.Deconvolution2D(n, 4, 4, 2, 1)
        if bn:
            layers['norm'] = L.BatchNormalization(4)
        for i in range(depth):
            layers['res{}'.format(i)] = L.Convolution2D(4, 4, 3, 1, 1)
        layers['out'] = L.Linear(size, 2, initialW=0.01)
        super(Block, self).__init__(**layers)

    def __call__(self, x):
        h = self.c(x)
        if self.bn:
            h = self.norm(h)
        for i in range(self.depth):
            h = h + self['res{}'.format(i)](h)
        return self.out(h)


"""
TRAIN = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__(a=Block(1, 64, 'down', False), b=Block(1, 1024, 'up', False, 1))

    def __call__(self, x):
        return self.a(x) + self.b(x)


def train(model):
    x = np.arange(64, dtype='f').reshape(1, 1, 8, 8) / 64
    x = np.concatenate([x, x.transpose(0, 1, 3, 2)])
    optimizer = optimizers.SGD(0.001)
    optimizer.setup(model)
    losses = []
    for _ in range(3):
        y = model(chainer.Variable(x))
        loss = F.mean_squared_error(y, np.ones((2, 2), 'f'))
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
        losses.append(float((model.a.c.W.array * 2).clip(0, 1).sum()))
    return losses
"""


def test_children_of_some_branches():
    head = HEAD.partition("class Net")[0] + BLOCK
    code = check(TRAIN, head=head, rtol=2e-4)
    assert "compat.Linear" not in code and "compat.LazyLinear" not in code, code
    assert "torch.flatten(h, 1)" in code and "nn.Linear(size, 2)" in code


@pytest.mark.parametrize("written", ["", "options(layers)\n        ", "layers.update(more)\n        "])
def test_what_version_1_passes_reaches_a_normalization_that_is_known(written):
    text = f"""
import chainer
import chainer.functions as F
import chainer.links as L


class Block(chainer.Chain):
    def __init__(self, n, bn=True):
        self.bn = bn
        layers = {{}}
        {written}layers['c'] = L.Convolution2D(n, n, 3)
        if bn:
            layers['norm'] = L.BatchNormalization(n)
        super(Block, self).__init__(**layers)

    def __call__(self, x, test):
        h = self.c(x)
        return self.norm(h, test=test) if self.bn else h
"""
    code = migrate_source(text, options=Options(style="native")).code
    assert "self.norm.train(not test)(h)" in code and "call_as_version_1" not in code, code


def test_a_key_that_nobody_writes_stays_unknown():
    text = """
import chainer
import chainer.links as L


class Block(chainer.Chain):
    def __init__(self, layers):
        layers['c'] = L.Convolution2D(3, 3, 3)
        super(Block, self).__init__(**layers)

    def __call__(self, x, test):
        return self.norm(self.c(x), test=test)
"""
    assert "return self.norm(self.c(x), test=test)" in migrate_source(text, options=Options(style="native")).code


PAIRS = """
class Net(chainer.Chain):
    def __init__(self, deep=True):
        super().__init__()
        links = [('one', L.Convolution2D(1, 2, 3)), ('two', L.Linear(72, 4))]
        links += [('three', L.Linear(4, 3))]
        if deep:
            links.append(('four', L.Linear(3, 2)))
        for i in range(2):
            links.append(('more%d' % i, L.Linear(2, 2)))
        LOOP

    def __call__(self, x):
        h = F.tanh(self.two(self.one(x)))
        h = self.four(F.tanh(self.three(h)))
        for i in range(2):
            h = getattr(self, 'more%d' % i)(h)
        return h


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    losses = []
    for _ in range(3):
        loss = F.sum(model(np.ones((2, 1, 8, 8), 'f')) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses
"""


@pytest.mark.parametrize(
    "loop",
    [
        "for link in links:\n            self.add_link(*link)",
        "for name, link in links:\n            self.add_link(name, link)",
    ],
)
def test_children_of_a_list_of_pairs(loop):
    code = check(PAIRS.replace("LOOP", loop), head=HEAD.partition("class Net")[0])
    assert code.count("compat.Linear") == 1 and "self.two(torch.flatten(self.one(x), 1))" in code, code
    assert "('two', init_weights(nn.Linear(72, 4)))" in code
    assert "getattr(self, 'more%d' % i)(h)" in code


@pytest.mark.parametrize("more", ["fill(links)", "links = links + others", "links.insert(0, ('two', other))"])
def test_pairs_that_come_from_elsewhere(more):
    """What is written is known, and what is not may be anything."""
    text = PAIRS.replace("LOOP", f"{more}\n        for link in links:\n            self.add_link(*link)")
    code = migrate_source(HEAD.partition("class Net")[0] + text, options=Options(style="native")).code
    assert "compat.Linear(2, 2)" in code, code
