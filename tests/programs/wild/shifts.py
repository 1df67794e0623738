"""Every schedule of a hyperparameter, on optimizers of several kinds, resumed in the middle of an epoch."""
import json
import os

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


def begin(model):
    pass


def made(optimizer, out, stop):
    rng = np.random.RandomState(0)
    x, t = rng.randn(20, 3).astype('f'), rng.randint(0, 2, 20).astype('i')
    model = L.Classifier(L.Linear(3, 2))
    begin(model)
    optimizer.setup(model)
    it = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 6)
    return model, training.Trainer(training.updaters.StandardUpdater(it, optimizer), stop, out)


def shifts():
    return [
        extensions.ExponentialShift('lr', 0.5),
        extensions.ExponentialShift('lr', 0.5, init=0.4, target=0.05),
        extensions.ExponentialShift('lr', 2.0, init=0.01, target=0.05),
        extensions.InverseShift('lr', 0.1, 0.5),
        extensions.InverseShift('lr', 0.1, 0.5, init=1.0, target=0.9),
        extensions.LinearShift('lr', (0.4, 0.1), (2, 6)),
        extensions.PolynomialShift('lr', 1.5, 12),
        extensions.PolynomialShift('lr', 0.5, 12, init=0.3, target=0.2),
        extensions.WarmupShift('lr', 0.01, 4, 0.2),
        extensions.StepShift('lr', 0.3, 3),
        extensions.StepShift('lr', 0.3, 3, init=1.0, target=0.2),
        extensions.MultistepShift('lr', 0.3, [2, 5, 6], 0.5),
        extensions.LinearShift('momentum', (0.9, 0.1), (1, 7)),
    ]


def rates(name):
    return lambda trainer: getattr(trainer.updater.get_optimizer('main'), name)


def main(out):
    results = []
    for trigger in ((1, 'epoch'), None):
        for number, shift in enumerate(shifts()):
            folder = os.path.join(out, '%s-%d' % (trigger and trigger[1], number))
            model, trainer = made(chainer.optimizers.MomentumSGD(0.5), folder, (9, 'iteration'))
            if trigger is None:
                trainer.extend(shift)
            else:
                trainer.extend(shift, trigger=trigger)
            trainer.extend(extensions.observe_lr(), trigger=(1, 'iteration'))
            trainer.extend(extensions.observe_lr(observation_key='rate'), name='rate', trigger=(1, 'iteration'))
            trainer.extend(extensions.observe_value('m', rates('momentum')), trigger=(1, 'iteration'))
            trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
            trainer.run()
            with open(os.path.join(folder, 'log')) as f:
                results.append([[e['lr'], e['rate'], e['m'], e['main/loss']] for e in json.load(f)])
    # an optimizer given by hand, Adam's alpha, and a decay that is no rate
    model, trainer = made(chainer.optimizers.Adam(0.01, weight_decay_rate=0.1), os.path.join(out, 'adam'), (3, 'epoch'))
    optimizer = trainer.updater.get_optimizer('main')
    trainer.extend(extensions.ExponentialShift('alpha', 0.5, optimizer=optimizer), trigger=(1, 'epoch'))
    trainer.extend(extensions.LinearShift('weight_decay_rate', (0.1, 0.0), (0, 9), optimizer))
    trainer.extend(extensions.observe_lr(), trigger=(2, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    trainer.run()
    results += [[p.array for p in model.params()], optimizer.alpha, optimizer.weight_decay_rate, optimizer.lr]

    # stopped and resumed in the middle of an epoch
    for shift in range(len(shifts())):
        folder = os.path.join(out, 'resumed-%d' % shift)
        found = []
        for stop in (5, 11):
            model, trainer = made(chainer.optimizers.MomentumSGD(0.5), folder, (stop, 'iteration'))
            trainer.extend(shifts()[shift], trigger=(2, 'iteration'))
            trainer.extend(extensions.observe_lr(), trigger=(1, 'iteration'))
            trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
            trainer.extend(extensions.snapshot(), trigger=(5, 'iteration'))
            if stop == 11:
                chainer.serializers.load_npz(os.path.join(folder, 'snapshot_iter_5'), trainer)
            trainer.run()
            updater = trainer.updater
            found.append([updater.iteration, updater.epoch, updater.epoch_detail, updater.previous_epoch_detail,
                          updater.get_optimizer('main').lr, [p.array for p in model.params()]])
        results.append(found)
    return results
