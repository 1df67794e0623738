"""Train and test mode in every disguise; dropout and batch normalization show which one was on."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import configuration


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 50)
            self.bn = L.BatchNormalization(50)
            self.l2 = L.Linear(50, 2)

    def forward(self, x):
        h = self.bn(self.l1(x))
        h = F.dropout(F.sigmoid(h) + 1, ratio=0.5)
        self.dropped = bool((h.array == 0).any())
        if chainer.config.train:
            self.seen = 'train'
        else:
            self.seen = 'test'
        return self.l2(h)


def predict(model, x):
    with chainer.using_config('train', False):
        with chainer.no_backprop_mode():
            return F.softmax(model(x)).array


class Ensemble(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.nets = chainer.ChainList(*[Net() for _ in range(n)])

    def forward(self, x):
        return sum(net(x) for net in self.nets) / len(self.nets)


def validate(model, x, t):
    old = chainer.config.train
    chainer.config.train = False
    y = model(x)
    loss = F.softmax_cross_entropy(y, t)
    chainer.config.train = old
    return float(loss.data)


def main(out):
    rng = np.random.RandomState(2)
    x = rng.randn(9, 4).astype(np.float32)
    t = np.array([0, 1] * 4 + [0])
    model = Ensemble(2)
    begin(model)
    net = model.nets[0]
    notes = []

    def note(what):
        notes.append((what, net.seen, net.dropped, bool(chainer.config.train),
                      [n.bn.avg_mean.sum() for n in model.nets]))

    model(x)
    note('start')
    p = predict(model, x)
    note('predicted')
    model(x)
    note('after predict')
    v = validate(model, x, t)
    note('validated')
    model(x)
    note('after validate')
    try:
        with configuration.using_config('train', False):
            model(x)
            raise KeyError('stop')
    except KeyError:
        pass
    note('raised')
    model(x)
    note('after the exception')
    with chainer.using_config('train', False):
        model(x)
        note('outer test')
        with chainer.using_config('train', True):
            model(x)
            note('inner train')
        model(x)
        note('outer again')
    chainer.global_config.train = True
    model(x)
    note('global')
    y = model(x)
    with chainer.using_config('enable_backprop', False):
        z = model.nets[1].l2(np.ones((1, 50), 'f'))
    notes.append((y.requires_grad, z.shape))
    return notes, p.shape, np.allclose(p.sum(axis=1), 1), v == v
