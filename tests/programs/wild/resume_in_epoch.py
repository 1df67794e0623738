"""Snapshots in the middle of an epoch with everything that has a state; resumed by autoload, load_npz and by parts."""
import json
import os

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import serializers, training
from chainer.training import extensions, triggers


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 6, nobias=True)
            self.bn = L.BatchNormalization(6)
            self.l2 = L.Linear(6, 2)
        self.add_persistent('seen', 0)

    def forward(self, x):
        if chainer.config.train:
            self.seen += len(x)
        return self.l2(F.relu(self.bn(self.l1(x))))


class Two(training.updaters.StandardUpdater):
    """Two optimizers, two iterators."""

    def update_core(self):
        first = self.converter(self.get_iterator('main').next(), self.device)
        second = self.converter(self.get_iterator('other').next(), self.device)
        model = self.get_optimizer('main').target
        loss = F.softmax_cross_entropy(model(first[0]), first[1])
        penalty = F.mean_squared_error(self.get_optimizer('aux').target(second[0]), second[0][:, :2])
        model.cleargrads()
        self.get_optimizer('aux').target.cleargrads()
        (loss + penalty).backward()
        self.get_optimizer('main').update()
        self.get_optimizer('aux').update()
        chainer.report({'loss': loss, 'penalty': penalty}, model)


def made(out, stop, trigger=(4, 'iteration'), **kwargs):
    rng = np.random.RandomState(0)
    x, t = rng.randn(26, 4).astype('f'), rng.randint(0, 2, 26).astype('i')
    model, aux = Net(), L.Linear(4, 2)
    model(x)
    begin(model)
    begin(aux)
    optimizers = {'main': chainer.optimizers.Adam(0.01).setup(model), 'aux': chainer.optimizers.MomentumSGD(0.1).setup(aux)}
    optimizers['main'].add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    its = {'main': chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x[:20], t[:20]), 6),
           'other': chainer.iterators.MultithreadIterator(chainer.datasets.TupleDataset(x, t), 4)}
    trainer = training.Trainer(Two(its, optimizers), (stop, 'iteration'), out)
    val = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x[20:], t[20:]), 3, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(val, L.Classifier(model)), trigger=(3, 'iteration'))
    trainer.extend(extensions.ExponentialShift('alpha', 0.9), trigger=(1, 'epoch'))
    trainer.extend(extensions.snapshot(**kwargs), trigger=trigger)
    trainer.extend(extensions.snapshot_object(model, 'model_{.updater.iteration}'),
                   trigger=triggers.MinValueTrigger('validation/main/loss', (3, 'iteration')))
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    return model, aux, trainer


def state(model, aux, trainer):
    updater = trainer.updater
    return [[p.array for _, p in sorted(model.namedparams())], [p.array for p in aux.params()], int(model.seen),
            model.bn.avg_var, updater.iteration, updater.epoch, updater.epoch_detail,
            updater.get_optimizer('main').t, updater.get_optimizer('main').alpha, updater.get_optimizer('aux').t]


def main(out):
    results = []
    whole = os.path.join(out, 'whole')
    model, aux, trainer = made(whole, 13)
    trainer.run()
    results.append(state(model, aux, trainer))

    parts = os.path.join(out, 'parts')
    model, aux, trainer = made(parts, 8)
    trainer.run()
    model, aux, trainer = made(parts, 13)
    serializers.load_npz(os.path.join(parts, 'snapshot_iter_8'), trainer)
    results.append([trainer.updater.iteration, trainer.updater.epoch, trainer.updater.get_optimizer('main').alpha])
    trainer.run()
    results.append(state(model, aux, trainer))
    with open(os.path.join(parts, 'log')) as f:
        results.append([[e['iteration'], e['main/loss']] for e in json.load(f)])

    auto = os.path.join(out, 'auto')
    for stop in (5, 9, 12):
        model, aux, trainer = made(auto, stop, (2, 'iteration'), n_retains=2, autoload=True,
                                   filename='state_{.updater.iteration:03}')
        trainer.run()
        results.append(state(model, aux, trainer))
        results.append(sorted(os.listdir(auto)))
    part = Net()
    part(np.zeros((2, 4), 'f'))
    begin(part)
    with np.load(os.path.join(whole, 'snapshot_iter_12')) as f:
        results.append(sorted(f.files))
        results.append([[key, f[key]] for key in sorted(f.files) if 'elapsed' not in key and f[key].dtype.kind in 'iuf'])
    serializers.load_npz(os.path.join(whole, 'snapshot_iter_12'), part, path='updater/model:main/')
    results.append([p.array for p in part.params()])
    results.append([part.seen, sorted(os.listdir(whole))])
    opt = chainer.optimizers.Adam().setup(part)
    serializers.load_npz(os.path.join(whole, 'snapshot_iter_12'), opt, path='updater/optimizer:main/')
    results.append([opt.t, opt.alpha])
    return results
