"""User extensions of every form, several evaluators, stop and schedule triggers, statistics, plots."""
import os
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extension, extensions, triggers, make_extension


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 6, nobias=True)
            self.bn = L.BatchNormalization(6)
            self.l2 = L.Linear(6, 3)

    def forward(self, x):
        return self.l2(F.relu(self.bn(self.l1(x))))


@make_extension(trigger=(1, 'epoch'), priority=extension.PRIORITY_READER)
def slower(trainer):
    """Halves the rate."""
    trainer.updater.get_optimizer('main').lr *= 0.5
    trainer.updater.get_optimizer('main').hyperparam.momentum = 0.8


@training.make_extension(default_name='named', trigger=(2, 'iteration'), sum=lambda t: print('begin'),
                         finalizer=lambda: print('end'))
def watcher(trainer):
    print('named', trainer.updater.iteration, '%.2f' % trainer.updater.epoch_detail, sorted(trainer.observation))


def plain(trainer):
    print('plain', trainer.updater.iteration, trainer.updater.is_new_epoch)


class Best(extension.Extension):
    priority = extension.PRIORITY_WRITER - 1
    name = 'best'

    def __init__(self, key):
        self.key = key
        self.best = None

    def initialize(self, trainer):
        print('initialize', trainer.updater.iteration, trainer.out is not None)

    def __call__(self, trainer):
        value = trainer.observation.get(self.key)
        if value is not None and (self.best is None or value > self.best):
            self.best = value
            chainer.serializers.save_npz(os.path.join(trainer.out, 'best_{.updater.epoch}.npz'.format(trainer)),
                                         trainer.updater.get_optimizer('main').target)

    def trigger(self, trainer):
        return trainer.updater.is_new_epoch

    def on_error(self, trainer, exc, tb):
        print('error', type(exc).__name__)

    def finalize(self):
        print('finalize')

    def serialize(self, serializer):
        self.best = serializer('best', self.best)


def build(out, n_epoch=4):
    rng = np.random.RandomState(0)
    x = rng.randn(50, 4).astype('f')
    t = (x.sum(1) > 0).astype('i') + (x[:, 0] > 1).astype('i')
    train = chainer.datasets.TupleDataset(x[:34], t[:34])
    val = chainer.datasets.TupleDataset(x[34:], t[34:])
    model = L.Classifier(Net())
    begin(model)
    optimizer = chainer.optimizers.MomentumSGD(0.1)
    optimizer.setup(model)
    it = chainer.iterators.SerialIterator(train, 8)
    updater = training.updaters.StandardUpdater(it, optimizer)
    trainer = training.Trainer(updater, (n_epoch, 'epoch'), out=out)
    val_it = chainer.iterators.SerialIterator(val, 8, repeat=False, shuffle=False)
    train_it = chainer.iterators.SerialIterator(train, 8, repeat=False, shuffle=False)
    return model, trainer, val_it, train_it


def main(out):
    model, trainer, val_it, train_it = build(os.path.join(out, 'first'), 2)
    trainer.extend(extensions.Evaluator(val_it, model))
    first = extensions.Evaluator(train_it, model, eval_func=lambda *args: model(*args))
    first.name = 'train'
    trainer.extend(first, trigger=(1, 'epoch'))
    trainer.extend(extensions.Evaluator({'main': val_it}, {'main': model}), name='val', trigger=(2, 'epoch'))
    trainer.extend(slower)
    trainer.extend(watcher)
    trainer.extend(plain, trigger=triggers.ManualScheduleTrigger([3, 7], 'iteration'))
    trainer.extend(plain, name='again', trigger=(1, 'epoch'), call_before_training=True)
    trainer.extend(Best('validation/main/accuracy'))
    trainer.extend(lambda trainer: print('lambda', trainer.updater.epoch), trigger=lambda t: t.updater.iteration == 5)
    trainer.extend(extensions.snapshot_object(model.predictor, 'max_{.updater.iteration}'),
                   trigger=triggers.MaxValueTrigger('validation/main/accuracy', (1, 'epoch')))
    trainer.extend(extensions.snapshot_object(model, 'best'),
                   trigger=triggers.BestValueTrigger('validation/main/loss', lambda a, b: b < a, (1, 'epoch')))
    trainer.extend(extensions.ParameterStatistics(model.predictor, trigger=(2, 'iteration')))
    trainer.extend(extensions.ParameterStatistics(
        [model.predictor.l1], statistics={'mean': lambda x: x.mean(), 'max': lambda x: x.max()}, report_grads=False,
        report_params=True, prefix='p', skip_nan_params=True), name='stats2')
    trainer.extend(extensions.observe_lr())
    trainer.extend(extensions.observe_value('momentum', lambda t: t.updater.get_optimizer('main').momentum))
    trainer.extend(extensions.LogReport(log_name='log_{epoch}'))
    trainer.extend(extensions.LogReport(trigger=(3, 'iteration'), log_name='often', postprocess=lambda d: d.update(
        {'twice': 2 * d['main/loss']})), name='often')
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss', 'validation/main/loss', 'train/main/accuracy',
                                           'val/main/loss', 'lr', 'momentum', 'missing'], out=sys.stdout), call_before_training=True)
    trainer.extend(extensions.PlotReport(['main/loss', 'validation/main/loss'], x_key='epoch', file_name='loss.png'))
    trainer.extend(extensions.PlotReport('main/accuracy', x_key='iteration', trigger=(5, 'iteration'),
                                         filename='accuracy.png', marker=None, grid=False), name='p2')
    trainer.extend(extensions.VariableStatisticsPlot(model.predictor, trigger=(2, 'epoch'), max_sample_size=10))
    trainer.extend(extensions.FailOnNonNumber())
    trainer.extend(extensions.unchain_variables())
    trainer.extend(extensions.snapshot(filename='snap_{.updater.epoch}'), trigger=(2, 'epoch'))
    trainer.run()
    results = [p.array for _, p in sorted(model.namedparams())]
    results += [model.predictor.bn.avg_mean, trainer.updater.get_optimizer('main').lr,
                trainer.get_extension('best').best, trainer.elapsed_time > 0, sorted(trainer.  # F.relu
observation)]

    # early stopping, in each mode
    for mode, monitor in (('min', 'validation/main/loss'), ('max', 'validation/main/accuracy'), ('auto', 'main/accuracy')):
        model, trainer, val_it, _ = build(os.path.join(out, mode), 20)
        trainer.stop_trigger = triggers.EarlyStoppingTrigger(monitor=monitor, patience=2, mode=mode, verbose=True,
                                                             max_trigger=(8, 'epoch'), check_trigger=(1, 'epoch'))
        trainer.extend(extensions.Evaluator(val_it, model))
        trainer.extend(extensions.LogReport())
        trainer.run()
        results.append([trainer.updater.epoch, trainer.updater.iteration, trainer.get_extension('LogReport').log[-1]['epoch']])

    # nan
    model, trainer, val_it, _ = build(os.path.join(out, 'nan'), 3)
    trainer.extend(extensions.FailOnNonNumber())
    trainer.extend(Best('nothing'))

    @make_extension(trigger=(6, 'iteration'))
    def spoil(trainer):
        for param in model.params():
            param.array[...] = np.nan

    trainer.extend(spoil)
    try:
        trainer.run()
    except RuntimeError as error:
        results.append(['failed', trainer.updater.iteration, str(error)[:20]])
    return results
