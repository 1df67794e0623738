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
