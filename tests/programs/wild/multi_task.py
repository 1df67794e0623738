"""Several iterators in one updater, a loss function of the user's, dictionaries as examples, two evaluators."""
import sys
import functools

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.datasets import ConcatenatedDataset, DictDataset, SubDataset, TransformDataset
from chainer.training import extensions as E
from chainer.training import triggers


def begin(model):
    pass


class Multi(chainer.Chain):
    def __init__(self):
        super(Multi, self).__init__()
        with self.init_scope():
            self.base = L.Linear(4, 6)
            self.a = L.Linear(6, 2)
            self.b = L.Linear(6, 1)

    def forward(self, image, label):
        loss = F.softmax_cross_entropy(self.a(F.relu(self.base(image))), label)
        chainer.report({'loss': loss}, self)
        return loss

    def regress(self, image, value):
        loss = F.mean_squared_error(self.b(F.relu(self.base(image))), value)
        chainer.report({'mse': loss}, self)
        return loss


class TwoTaskUpdater(training.updaters.StandardUpdater):
    def __init__(self, iterator, optimizer, weight, **kwargs):
        super(TwoTaskUpdater, self).__init__(iterator, optimizer, **kwargs)
        self.weight = weight

    def update_core(self):
        optimizer = self.get_optimizer('main')
        model = optimizer.target
        first = self.converter(self.get_iterator('main').next(), self.device)
        second = self.converter(next(self.get_iterator('aux')), self.device)
        loss = model(**first) + self.weight * model.regress(**second)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        chainer.reporter.report({'total': loss, 'task/weight': self.weight})


def transform(scale, example):
    out = dict(example)
    out['image'] = out['image'] * scale
    return out


def main(out):
    rng = np.random.RandomState(3)
    image = rng.randn(21, 4).astype('f')
    classes = DictDataset(image=image, label=(image[:, 0] > 0).astype('i'))
    values = DictDataset(image=image, value=image[:, 1:2] * 2)
    train_a = TransformDataset(SubDataset(classes, 0, 15), functools.partial(transform, 0.5))
    train_b = ConcatenatedDataset(SubDataset(values, 0, 5), SubDataset(values, 8, 14))
    model = Multi()
    begin(model)
    optimizer = chainer.optimizers.CorrectedMomentumSGD(lr=0.05)
    optimizer.setup(model)
    iters = {'main': chainer.iterators.SerialIterator(train_a, 4),
             'aux': chainer.iterators.SerialIterator(train_b, 3, shuffle=False)}
    updater = TwoTaskUpdater(iters, optimizer, 0.3)
    trainer = training.Trainer(updater, (12, 'iteration'), out=out)
    test_a = chainer.iterators.SerialIterator(SubDataset(classes, 15, 21), 4, repeat=False, shuffle=False)
    test_b = chainer.iterators.SerialIterator(SubDataset(values, 15, 21), 4, repeat=False, shuffle=False)
    trainer.extend(E.Evaluator(test_a, model), name='class')
    trainer.extend(E.Evaluator(test_b, model, eval_func=model.regress), name='value')
    trainer.extend(E.Evaluator({'main': test_a}, {'main': model, 'other': model.base}))
    trainer.extend(E.LogReport(trigger=triggers.IntervalTrigger(3, 'iteration')))
    trainer.extend(E.PrintReport(['epoch', 'total', 'main/loss', 'main/mse', 'class/main/loss', 'value/main/mse',
                                  'validation/main/loss', 'task/weight'], out=sys.stdout))
    trainer.extend(E.WarmupShift('lr', 0.01, 5, 0.05))
    trainer.extend(E.InverseShift('momentum', 0.1, 0.75, init=0.9), trigger=(2, 'iteration'))
    trainer.extend(E.observe_lr(), trigger=(1, 'iteration'))
    lrs = []
    trainer.extend(lambda tr: lrs.append((optimizer.lr, optimizer.momentum)), name='lrs', trigger=(1, 'iteration'))
    trainer.run()
    return lrs, updater.get_iterator('aux').epoch, updater.epoch, optimizer.epoch, [
        float(F.sum(p ** 2).array) for p in model.params()]
