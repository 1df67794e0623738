"""Several evaluators, names, own evaluate(), eval_func, converters, eval_hook."""
import copy
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import reporter as reporter_module
from chainer import training
from chainer.dataset import convert
from chainer.training import extensions


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(4, 6, nobias=True)
            self.bn = L.BatchNormalization(6)
            self.b = L.Linear(6, 3)

    def __call__(self, x):
        return self.b(F.relu(self.bn(self.a(x))))


class MyClassifier(chainer.Chain):
    def __init__(self, predictor):
        super().__init__(predictor=predictor)

    def forward(self, x, t):
        y = self.predictor(x)
        loss = F.softmax_cross_entropy(y, t)
        chainer.report({'loss': loss, 'accuracy': F.accuracy(y, t), 'mode': float(chainer.config.train)}, self)
        return loss


class Own(extensions.Evaluator):
    default_name = 'own'

    def evaluate(self):
        iterator = self._iterators['main']
        model = self._targets['main']
        eval_func = self.eval_func or model
        if self.eval_hook:
            self.eval_hook(self)
        if hasattr(iterator, 'reset'):
            iterator.reset()
            it = iterator
        else:
            it = copy.copy(iterator)
        summary = reporter_module.DictSummary()
        for batch in it:
            observation = {}
            with reporter_module.report_scope(observation):
                in_arrays = self.converter(batch, self.device)
                with chainer.no_backprop_mode():
                    if isinstance(in_arrays, tuple):
                        eval_func(*in_arrays)
                    elif isinstance(in_arrays, dict):
                        eval_func(**in_arrays)
                    else:
                        eval_func(in_arrays)
            summary.add(observation)
            summary.add({'n': len(batch)})
        return summary.compute_mean()


class Top(extensions.Evaluator):
    def evaluate(self):
        it = copy.copy(self._iterators['main'])
        target = self.get_target('main')
        ys, ts = [], []
        for batch in it:
            x, t = self.converter(batch, self.device)
            with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
                y = target.predictor(x)
            ys.append(chainer.cuda.to_cpu(F.softmax(y).data))
            ts.append(chainer.cuda.to_cpu(t))
        y, t = np.concatenate(ys), np.concatenate(ts)
        metrics = {'top2': float(np.mean([a in np.argsort(-b)[:2] for a, b in zip(t, y)])), 'mean': y.mean()}
        observation = {}
        with reporter_module.report_scope(observation):
            reporter_module.report(metrics, target)
        return observation


def half(batch, device=None):
    x, t = convert.concat_examples(batch, device)
    return x * np.float32(0.5), t


def main(out):
    x = np.random.randn(33, 4).astype('f')
    t = np.random.randint(0, 3, 33).astype('i')
    model = MyClassifier(Net())
    begin(model)
    opt = chainer.optimizers.Adam(0.01).setup(model)
    d = chainer.datasets.TupleDataset(x, t)
    train, test = chainer.datasets.split_dataset_random(d, 23, seed=0)
    train_iter = chainer.iterators.SerialIterator(train, 5)
    mk = lambda: chainer.iterators.SerialIterator(test, 4, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, opt)
    trainer = training.Trainer(updater, (3, 'epoch'), out)
    hooked = []
    trainer.extend(extensions.Evaluator(mk(), model))
    trainer.extend(extensions.Evaluator(mk(), model, eval_func=lambda x, t: chainer.report(
        {'z': F.mean(model.predictor(x))}, model), eval_hook=lambda e: hooked.append(e.name)), name='fn')
    trainer.extend(extensions.Evaluator({'main': mk()}, {'main': model}, converter=half), name='half')
    e = Own(mk(), model, device=-1)
    trainer.extend(e, trigger=(4, 'iteration'))
    top = Top(mk(), model)
    top.name = 'top'
    trainer.extend(top)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(
        ['epoch', 'main/loss', 'validation/main/loss', 'fn/main/z', 'half/main/accuracy', 'own/main/loss', 'own/n',
         'top/main/top2', 'main/mode', 'validation/main/mode', 'own/main/mode'], out=sys.stdout), trigger=(1, 'epoch'))
    trainer.run()
    alone = extensions.Evaluator(mk(), model)
    res = alone()
    print(sorted(res), chainer.config.train, hooked)
    print(trainer.get_extension('fn').name, trainer.get_extension('own').trigger if False else '')
    return {k: float(v) for k, v in res.items()}, model.predictor.bn.avg_var
