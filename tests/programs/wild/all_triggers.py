"""All triggers, extensions with priorities and states of their own, early stopping, reports of their own."""
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions, triggers


def begin(model):
    pass


class Reg(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 1)

    def __call__(self, x, y):
        loss = F.mean_squared_error(self.l(x), y)
        chainer.report({'loss': loss, 'acc': -loss}, self)
        return loss


class Every(object):
    def __init__(self, n):
        self.n = n

    def __call__(self, trainer):
        return trainer.updater.iteration % self.n == 0


class Counter(training.Extension):
    priority = training.PRIORITY_EDITOR
    trigger = 2, 'iteration'

    def __init__(self, what):
        self.what = what
        self.fired = []

    @property
    def default_name(self):
        return self.what

    def initialize(self, trainer):
        print('init', self.what, trainer.updater.iteration)

    def __call__(self, trainer):
        self.fired.append(trainer.updater.iteration)

    def finalize(self):
        print('end', self.what, self.fired)

    def serialize(self, serializer):
        self.fired = list(serializer('fired', np.array(self.fired)))


def main(out):
    x = np.random.randn(20, 3).astype('f')
    y = x.sum(1, keepdims=True) + 0.1
    model = Reg()
    begin(model)
    opt = chainer.optimizers.MomentumSGD(0.02).setup(model)
    train_iter = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, y), 4)
    valid_iter = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x[:8], y[:8]), 4, False, False)
    updater = training.StandardUpdater(train_iter, opt, device=-1)
    stop = triggers.EarlyStoppingTrigger(monitor='validation/main/loss', check_trigger=(1, 'epoch'), patients=2,
                                         max_trigger=(8, 'epoch'), mode='min', verbose=True)
    trainer = training.Trainer(updater, stop, out=out)
    trainer.extend(extensions.Evaluator(valid_iter, model), trigger=(1, 'epoch'))
    cs = []
    for name, trig in [
            ('manual_it', triggers.ManualScheduleTrigger([1, 5, 9], 'iteration')),
            ('manual_ep', triggers.ManualScheduleTrigger([0.5, 2, 3.3], 'epoch')),
            ('manual_one', triggers.ManualScheduleTrigger(3, 'epoch')),
            ('interval', triggers.IntervalTrigger(3, 'iteration')),
            ('half_epoch', (0.5, 'epoch')),
            ('once', triggers.OnceTrigger(call_on_resume=True)),
            ('min', triggers.MinValueTrigger('validation/main/loss')),
            ('max', triggers.MaxValueTrigger('main/acc', trigger=(2, 'iteration'))),
            ('best', triggers.BestValueTrigger('main/loss', lambda old, new: new < old * 0.9, trigger=(2, 'iteration'))),
            ('own', Every(7)), ('lam', lambda tr: tr.updater.iteration in (2, 4)), ('default', None)]:
        c = Counter(name)
        cs.append(c)
        trainer.extend(c, trigger=trig) if trig is not None else trainer.extend(c)
    trainer.extend(extensions.LogReport(keys=['main/loss', 'validation/main/loss'], trigger=(5, 'iteration'),
                                        log_name='my_log'))
    own = extensions.LogReport(trigger=(2, 'iteration'), filename='own_{iteration}')
    trainer.extend(extensions.PrintReport(['iteration', 'main/loss', 'validation/main/loss'], log_report=own,
                                          out=sys.stdout), name='own_print', trigger=(1, 'iteration'))
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'main/acc'], out=sys.stdout),
                   trigger=(1, 'epoch'))
    trainer.extend(extensions.snapshot(filename='snap_{.updater.iteration}'),
                   trigger=triggers.MinValueTrigger('validation/main/loss'))

    @training.make_extension(trigger=(1, 'epoch'), priority=-1)
    def say(tr):
        print('epoch', tr.updater.epoch, tr.updater.is_new_epoch, '%.4f' % tr.observation['validation/main/loss'],
              '%.2f' % tr.updater.epoch_detail, '%.2f' % tr.updater.previous_epoch_detail, tr.is_before_training)
    trainer.extend(say, call_before_training=False)
    trainer.extend(lambda tr: print('it', tr.updater.iteration), name='lam2', trigger=(10, 'iteration'))
    trainer.run()
    print(stop.get_training_length())
    return [c.fired for c in cs], model.l.W.data
