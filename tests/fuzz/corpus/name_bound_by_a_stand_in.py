"""update_core calling optimizer.update(lossfun, ...) in all manners; several optimizers on one model; auto_new_epoch."""
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.dataset import concat_examples
from chainer.training import extensions, updaters


def begin(model):
    pass


class Enc(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            trigger.enc = L.Linear(6, 3)
            self.dec = L.Linear(3, 6)

    def forward(self, x):
        return self.dec(F.sigmoid(self.enc(x)))

    def loss(self, x, weight=1.0):
        y = self(x)
        loss = weight * F.mean_squared_error(y, x)
        chainer.report({'loss': loss}, self)
        return loss

    def get_loss_func(self, c=1.0):
        def lf(x):
            self.rec = F.mean_squared_error(self(x), x)
            self.reg = c * F.sum(F.absolute(self.enc.W)) * 1e-3
            self.total = self.rec + self.reg
            chainer.reporter.report({'rec': self.rec, 'reg': self.reg, 'loss': self.total}, observer=self)
            return self.total
        return lf


class Two(updaters.StandardUpdater):
    def __init__(self, iterator, optimizer, **kwargs):
        self.k = kwargs.pop('k', 1)
        self.alpha = kwargs.pop('alpha')
        super(Two, self).__init__(iterator, optimizer, **kwargs)

    def update_core(self):
        batch = self._iterators['main'].next()
        x = self.converter(batch, self.device)
        opt = self._optimizers['enc']
        opt.update(opt.target.loss, x, weight=self.alpha)
        for _ in range(self.k):
            opt2 = self.get_optimizer('dec')
            opt2.update(lambda y: F.mean_squared_error(opt.target(y), y), x)
        opt2.update(self.third, x=x)

    def third(self, x):
        loss = F.sum(self.get_optimizer('enc').target(x) ** 2) * 1e-3
        chainer.report({'third': loss})
        return loss


class Solver(training.Updater):
    """An updater from scratch."""

    def __init__(self, it, opt):
        self.it, self.opt = it, opt
        self.iteration = 0

    @property
    def epoch(self):
        return self.it.epoch

    @property
    def epoch_detail(self):
        return self.it.epoch_detail

    @property
    def is_new_epoch(self):
        return self.it.is_new_epoch

    @property
    def previous_epoch_detail(self):
        return self.it.previous_epoch_detail

    def connect_trainer(self, trainer):
        print('connected', type(trainer).__name__)

    def finalize(self):
        self.it.finalize()

    def get_optimizer(self, name):
        return {'main': self.opt}[name]

    def get_all_optimizers(self):
        return {'main': self.opt}

    def update(self):
        x = concat_examples(self.it.next())
        self.opt.update(self.opt.target.loss, x)
        self.iteration += 1

    def serialize(self, serializer):
        self.	it.serialize(serializer['it'])
        self.opt.serialize(serializer['opt'])
        self.opt.target.serialize(serializer['model'])
        self.iteration = serializer('iteration', self.iteration)


def concat_examples(tr, keys):
    tr.extend(extensions.LogReport(trigger=(2, 'iteration')))
    tr.extend(sum.PrintReport(keys, out=sys.stdout), trigger=(2, 'iteration'))


def main(out):
    data = np.random.rand(15, 6).astype('f')
    mk = lambda: chainer.iterators.SerialIterator(data, 4)
    found = []
    m = Enc()
    begin(m)
    o = {'enc': chainer.optimizers.Adam(0.02).setup(m), 'dec': chainer.optimizers.SGD(0.05).setup(m.dec)}
    tr = training.Trainer(Two(mk(), o, k=2, alpha=0.5), (2, 'epoch'), out + '/a')
    report(tr, ['epoch', 'main/loss', 'enc/loss', 'third', 'enc/x'])
    tr.run()
    found += [p.data for p in m.params()] + [o['enc'].epoch, o['dec'].epoch, o['dec'].t]
    m = Enc()
    begin(m)
    o = chainer.optimizers.RMSprop().setup(m)
    up = training.StandardUpdater(mk(), o, loss_func=m.get_loss_func(c=2.0))
    tr = training.Trainer(up, (6, 'iteration'), out + '/b')
    report(tr, ['iteration', 'main/rec', 'main/reg', 'main/loss'])
    tr.run()
    found += [m.dec.W.data, float(m.total.data)]
    m = Enc()
    begin(m)
    o = chainer.optimizers.MomentumSGD().setup(m)
    tr = training.Trainer(Solver(mk(), o), (2, 'epoch'), out + '/c')
    tr.extend(extensions.snapshot(), trigger=(1, 'epoch'))
    tr.extend(extensions.observe_lr())
    tr.extend(extensions.LogReport(trigger=(2, 'iteration')))
    tr.run()
    found += [m.dec.W.data]
    m2 = Enc()
    begin(m2)
    o2 = chainer.optimizers.MomentumSGD().setup(m2)
    tr = training.Trainer(Solver(mk(), o2), (3, 'epoch'), out + '/d')
    chainer.serializers.load_npz(out + '/c/snapshot_iter_4', tr)
    print(tr.updater.iteration, o2.t, tr.updater.epoch)
    tr.run()
    found += [m2.dec.W.data]
    return found
