"""A Trainer with most extensions: own Evaluator, best-value triggers, shifts, early stopping, a batch size that does not divide."""
import sys
import json
import os

import chainer
from chainer import reporter as reporter_module
from chainer import training
from chainer.training import extension, extensions, triggers
import chainer.functions as F
import chainer.links as L
import numpy as np


def begin(model):
    pass


class Regressor(chainer.Chain):
    def __init__(self, predictor):
        super(Regressor, self).__init__()
        with self.init_scope():
            self.predictor = predictor

    def __call__(self, x, t):
        y = self.predictor(x)
        loss = F.mean_squared_error(y, t)
        mae = F.mean_absolute_error(y, t)
        chainer.report({'loss': loss, 'mae': mae}, self)
        return loss


class MedianEvaluator(extensions.Evaluator):
    default_name = 'val'

    def evaluate(self):
        iterator = self._iterators['main']
        target = self._targets['main']
        it = iterator
        it.reset()
        summary = reporter_module.DictSummary()
        errors = []
        for batch in it:
            observation = {}
            with reporter_module.report_scope(observation):
                x, t = self.converter(batch, self.device)
                with chainer.function.no_backprop_mode():
                    target(x, t)
                    y = target.predictor(x)
                errors.extend(abs(y.array - t).ravel().tolist())
            summary.add(observation)
        observation = summary.compute_mean()
        with reporter_module.report_scope(observation):
            chainer.report({'median': np.median(errors), 'n': len(errors)}, target)
        return observation


class Counter(extension.Extension):
    trigger = 1, 'iteration'
    priority = extension.PRIORITY_WRITER

    def __init__(self):
        self.calls = []
        self.steps = 0

    def initialize(self, trainer):
        self.calls.append('initialize')

    def __call__(self, trainer):
        self.steps += 1
        if 'val/main/loss' in trainer.observation:
            self.calls.append((trainer.updater.iteration, float(trainer.observation['val/main/loss'])))
        chainer.report({'steps': self.steps})

    def finalize(self):
        self.calls.append('finalize')

    def serialize(self, serializer):
        self.steps = serializer('steps', self.steps)


def main(out):
    rng = np.random.RandomState(7)
    x = rng.randn(53, 4).astype('f')
    t = (x.sum(1, keepdims=True) ** 2).astype('f')
    train, val = chainer.datasets.split_dataset(chainer.datasets.TupleDataset(x, t), 39)
    model = Regressor(chainer.Sequential(L.Linear(4, 8), F.tanh, L.Linear(8, 1)))
    begin(model)
    optimizer = chainer.optimizers.MomentumSGD(lr=0.02)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(train, 10)
    val_iter = chainer.iterators.SerialIterator(val, 6, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=-1)
    stop = triggers.EarlyStoppingTrigger(monitor='val/main/loss', patients=2, max_trigger=(9, 'epoch'))
    trainer = training.Trainer(updater, stop, out=out)

    counter = Counter()
    trainer.extend(MedianEvaluator(val_iter, model, device=-1))
    trainer.extend(extensions.Evaluator(val_iter, model), name='again', trigger=(2, 'epoch'))
    trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(2, 'epoch'))
    trainer.extend(extensions.LinearShift('momentum', (0.9, 0.5), (3, 12)))
    trainer.extend(extensions.observe_lr())
    trainer.extend(extensions.observe_value('momentum', lambda tr: tr.updater.get_optimizer('main').momentum),
                   trigger=(1, 'iteration'))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.LogReport(keys=['main/loss', 'steps'], trigger=(3, 'iteration'), log_name='fine.json'),
                   name='fine')
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'main/loss', 'main/mae', 'val/main/loss', 'val/main/median', 'again/main/loss', 'lr',
         'momentum', 'steps'], out=sys.stdout))
    trainer.extend(counter)
    trainer.extend(extensions.snapshot_object(model, 'best.npz'), trigger=triggers.MinValueTrigger('val/main/loss'))
    trainer.extend(extensions.snapshot_object(model, 'worst.npz'),
                   trigger=triggers.MaxValueTrigger('main/mae', trigger=(5, 'iteration')))
    trainer.extend(lambda t: counter.calls.append(('lambda', t.updater.epoch, round(t.updater.epoch_detail, 4))),
                   name='say', trigger=triggers.IntervalTrigger(2, 'epoch'))
    trainer.extend(lambda t: counter.calls.append(('manual', t.updater.iteration)),
                   name='points', trigger=triggers.ManualScheduleTrigger([2, 3.5], 'epoch'))
    trainer.extend(lambda t: counter.calls.append(('once', t.updater.iteration)), name='once',
                   trigger=triggers.OnceTrigger(call_on_resume=True))
    trainer.extend(extensions.PlotReport(['main/loss', 'val/main/loss'], 'epoch', file_name='loss.png'))
    trainer.extend(extensions.PlotReport(['lr'], 'iteration', trigger=(4, 'iteration'), file_name='lr.png'))
    trainer.extend(extensions.VariableStatisticsPlot(model))
    trainer.extend(extensions.ProgressBar(update_interval=1000, out=sys.stdout))
    trainer.extend(extensions.FailOnNonNumber())
    trainer.run()
    with open(os.path.join(out, 'log')) as f:
        assert len(json.load(f)) == updater.epoch
    return counter.calls, updater.epoch, updater.iteration, optimizer.lr, optimizer.momentum
