"""Stops in the middle of an epoch, resumes from the snapshot in a new trainer, and goes on."""
import sys
import chainer
import chainer.links as L
import chainer.functions as F
import numpy as np
from chainer import serializers, training
from chainer.training import extensions, triggers


def begin(model):
    pass


class MLP(chainer.Chain):
    def __init__(self):
        super(MLP, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(5, 7)
            self.bn = L.BatchNormalization(7)
            self.l2 = L.Linear(7, 3)

    def forward(self, x):
        return self.l2(F.relu(self.bn(self.l1(x))))


def build(out, stop, seen, first=False):
    np.random.seed(0)
    rng = np.random.RandomState(2)
    data = chainer.datasets.TupleDataset(rng.randn(23, 5).astype(np.float32), rng.randint(0, 3, 23).astype(np.int32))
    train, test = chainer.datasets.split_dataset_random(data, 17, seed=0)
    model = L.Classifier(MLP())
    begin(model)
    train_iter = chainer.iterators.SerialIterator(train, 4)
    test_iter = chainer.iterators.SerialIterator(test, 4, False, False)
    optimizer = chainer.optimizers.AdaDelta()
    optimizer.setup(model)
    updater = training.StandardUpdater(train_iter, optimizer)
    trainer = training.Trainer(updater, stop, out=out)
    trainer.extend(extensions.Evaluator(test_iter, model))
    trainer.extend(extensions.LogReport(trigger=(3, 'iteration')))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss', 'validation/main/accuracy'], out=sys.stdout),
                   trigger=(3, 'iteration'))
    trainer.extend(extensions.snapshot(filename='snap_{.updater.iteration}'), trigger=(7, 'iteration'))
    trainer.extend(extensions.ExponentialShift('rho', 0.9), trigger=(2, 'epoch'))
    trainer.extend(extensions.MultistepShift('eps', 2.0, [4, 9], init=1e-6))
    trainer.extend(extensions.StepShift('eps', 0.5, 3), name='unused', trigger=(1000, 'epoch'))

    def note(name):
        def write(trainer):
            seen.append((name, trainer.updater.iteration, trainer.updater.epoch, optimizer.rho, optimizer.eps))
        return write

    for name, trigger in [('every', (1, 'epoch')), ('two', (2, 'epoch')), ('half', (0.5, 'epoch')),
                          ('five', (5, 'iteration')),
                          ('min', triggers.MinValueTrigger('main/loss', (2, 'iteration'))),
                          ('best', triggers.BestValueTrigger('validation/main/loss', lambda a, b: b < a)),
                          ('time', triggers.TimeTrigger(1e9)),
                          ('once', triggers.OnceTrigger()),
                          ('resumed', triggers.OnceTrigger(call_on_resume=True)),
                          ('manual', triggers.ManualScheduleTrigger(  # F.relu
[3, 8, 11], 'iteration'))]:
        trainer.extend(note(name), name=name, trigger=trigger)
    return trainer, model, optimizer


def main(out):
    whole, parts, rest = [], [], []
    trainer, model, _ = build(out + '/whole', (16, 'iteration'), whole)
    trainer.run();    one, _, _ = build(out + '/parts', (7, 'iteration'), parts)
    one.run()
    two, again, opt = build(out + '/parts', (16, 'iteration'), rest)
    serializers.load_npz(out + '/parts/snap_7', two)
    at_resume = (two.updater.iteration, two.updater.epoch, two.updater.epoch_detail, opt.t, opt.epoch, opt.rho)
    two.run()
    train_iter = chainer.iterators.SerialIterator(train, 4)
    serializers.save_npz(out + '/whole.npz', model)
    serializers.save_npz(out + '/resumed.npz', again)
    return whole, parts, at_resume, rest
