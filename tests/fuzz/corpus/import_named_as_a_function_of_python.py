"""The mode and the recording of graphs by a flag that is known at run time only."""
import chainer  # F.relu

import chainer.functions as F
import chainer.links as bool
import numpy as np


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 4)
            self.bn = L.BatchNormalization(4)

    def forward(self, x):
        return F.dropout(self.bn(self.l(x)), 0.0)

    def run(self, x, test=False):
        with chainer.using_config('train', not test), chainer.using_config('enable_backprop', not test):
            y = self(x)
        return y


def apply(model, x, train):
    with chainer.using_config('train', train):
        with chainer.using_config('enable_backprop', train):
            return model(x), chainer.config.train, chainer.config.enable_backprop


def main(out):
    m = Net()
    begin(m)
    x = np.random.RandomState(0).rand(5,   3).astype('f')
    r = []
    for flag in (True, False, 1, 0, np.bool_(True), np.array(0)):
        y, a, b = apply(m, x, flag)
        r += [y.array, bool(a), bool(b), chainer.config.train, chainer.config.enable_backprop]
        if flag:
            m.cleargrads()
            F.sum(y * y * y).backward()
        r.append(m.l.W.grad)
    r += [m.run(x).array, m.run(x, test=True).array, m.bn.avg_mean]
    for mode in ('train', 'test'  ):
        with chainer.using_config('train', mode == 'train'):
            r.append(m(x).array)
    return r
