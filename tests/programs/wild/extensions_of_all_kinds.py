"""Extensions as classes, functions and decorated ones: states, priorities, names given twice, errors and endings."""
import os
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extension, extensions


def begin(model):
    pass


class Best(chainer.training.extension.Extension):
    """Keeps the best parameters."""
    trigger = (1, 'epoch')
    priority = extension.PRIORITY_WRITER
    invoke_before_training = False

    def __init__(self, model, key):
        self.model, self.key, self.best, self.kept = model, key, None, None

    def __call__(self, trainer):
        observation = trainer.observation
        if self.key not in observation:
            return
        value = observation[self.key]
        if self.best is None or value < self.best:
            self.best = float(value)
            self.kept = [p.data.copy() for p in self.model.params()]
            print('best', '%.5f' % self.best, 'at', trainer.updater.iteration)

    def serialize(self, serializer):
        if isinstance(serializer, chainer.serializer.Serializer):
            serializer('best', self.best)
        else:
            self.best = serializer('best', self.best)


class LRDrop(extension.Extension):
    def __init__(self, lr, epochs):
        self.lr, self.epochs = lr, epochs

    def __call__(self, trainer):
        optimizer = trainer.updater.get_optimizer('main')
        e = trainer.updater.epoch
        if e in self.epochs:
            optimizer.lr = self.lr * 0.1 ** (self.epochs.index(e) + 1)
            print('lr', '%.4g' % trainer.updater.get_optimizer('main').lr)
        for name, param in trainer.updater.get_optimizer('main').target.namedparams():
            if name.endswith('b'):
                chainer.report({'b' + name.replace('/', '_'): abs(param.data).mean()})


@training.make_extension(default_name='decorated', trigger=(3, 'iteration'), priority=extension.PRIORITY_READER,
                         finalizer=lambda: print('finalized'), initializer=lambda t: print('begins', t.out != ''))
def decorated(trainer):
    print('decorated', trainer.updater.iteration, sorted(k for k in trainer.observation if 'main' in k))


def plain(trainer):
    print('plain', trainer.updater.epoch)


plain.trigger = (1, 'epoch')
plain.priority = 10


def on_end(out):
    def f(trainer):
        with open(os.path.join(out, 'epochs.txt'), 'a') as fp:
            fp.write('%d %.4f\n' % (trainer.updater.epoch, float(trainer.observation['main/loss'].data)))
    return f


def handler(trainer, exc, tb):
    print('handler', type(exc).__name__, exc)


class Boom(extension.Extension):
    trigger = (1, 'iteration')
    name = 'boom'

    def __call__(self, trainer):
        if trainer.updater.iteration == 3:
            raise ValueError('stop here')

    def on_error(self, trainer, exc, tb):
        print('on_error', type(exc).__name__, trainer.updater.iteration)

    def finalize(self):
        print('boom finalized')


def build(out, stop):
    x = np.random.randn(16, 3).astype('f')
    t = (x.sum(1) > 0).astype('i')
    model = L.Classifier(L.Linear(3, 2))
    begin(model)
    optimizer = chainer.optimizers.SGD(0.2)
    optimizer.setup(model)
    it = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 4)
    updater = training.StandardUpdater(it, optimizer)
    trainer = training.Trainer(updater, stop, out)
    vit = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 5, shuffle=False, repeat=False)
    trainer.extend(extensions.Evaluator(vit, model))
    return model, trainer


def main(out):
    model, trainer = build(out, (4, 'epoch'))
    best = Best(model, 'validation/main/loss')
    trainer.extend(best)
    trainer.extend(LRDrop(0.2, [2, 3]), trigger=(1, 'epoch'), priority=200)
    trainer.extend(decorated)
    trainer.extend(plain)
    trainer.extend(plain, name='twice', trigger=(2, 'epoch'))
    trainer.extend(plain, name='twice', trigger=(2, 'epoch'))
    trainer.extend(on_end(out), name='writer', trigger=(1, 'epoch'), call_before_training=False)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.FailOnNonNumber())
    trainer.extend(extensions.ParameterStatistics(model.predictor, prefix='model', trigger=(1, 'epoch')))
    trainer.extend(extensions.unchain_variables())
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'b_predictor_b', 'model/x',
                                           'model/predictor/W/grad/std'], out=sys.stdout))
    trainer.extend(extensions.snapshot(filename='s_{.updater.epoch}', condition=lambda: trainer.updater.epoch % 2 == 0),
                   trigger=(1, 'epoch'))
    trainer.run()
    print(trainer.get_extension('twice_1') is not None, trainer.elapsed_time > 0)
    print(trainer.get_extension('twice').__class__.__name__, trainer.get_extension('LogReport').log[-1]['epoch'])
    try:
        trainer.run()
    except RuntimeError as e:
        print('RuntimeError', e)
    kept = best.kept
    model, trainer = build(out + '/second', (3, 'epoch'))
    trainer.extend(Boom())
    trainer.extend(plain)
    try:
        trainer.run(show_loop_exception_msg=False)
    except ValueError as e:
        print('ValueError', e)
    model, trainer = build(out + '/third', (3, 'epoch'))
    model.predictor.W.data[0, 0] = np.nan
    trainer.extend(extensions.FailOnNonNumber())
    try:
        trainer.run(show_loop_exception_msg=False)
    except RuntimeError as e:
        print('RuntimeError', str(e)[:60])
    return kept, best.best
