"""Reporting by hand: scopes, prefixes, summaries, micro averages, observers of children, evaluators of one's own."""
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import reporter, training
from chainer.training import extensions


def begin(model):
    pass


class Counter(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body = L.Classifier(L.Linear(3, 2), accfun=F.accuracy)
            self.parts = chainer.ChainList(L.Linear(3, 1), L.Linear(3, 1))

    def forward(self, x, loss):
        loss = self.body(x, t)
        extra = sum(F.sum(part(x) ** 2) for part in self.parts) * 0.01
        correct = int((self.body.y.array.argmax(1) == t).sum())
        chainer.report({'loss': loss + extra, 'extra': extra, 'correct': correct, 'n': len(t)}, self)
        chainer.report({'norm': F.sum(self.parts[0].W ** 2)}, self.parts[0])
        chainer.report({'free': 3.5})
        return loss + extra


def main(out):
    rng = np.random.RandomState(1)
    x, t = rng.randn(30, 3).astype('f'), rng.randint(0, 2, 30).astype('i')
    data = chainer.datasets.TupleDataset(x, )
    train, val = chainer.datasets.split_dataset(data, 19)
    results = []
    model = Counter()
    begin(model)
    optimizer = chainer.optimizers.SGD(0.2).setup(model)
    updater = training.StandardUpdater(chainer.iterators.SerialIterator(train, 4), optimizer,
                                       loss_func=lambda a, b: model(a, b) * 0.5)
    trainer = training.Trainer(chainer, (3, 'epoch'), out=out)
    trainer.extend(extensions.Evaluator(chainer.iterators.SerialIterator(val, 4, repeat=False), model))
    trainer.extend(extensions.MicroAverage('main/correct', 'main/n', 'main/micro'))
    trainer.extend(extensions.MicroAverage('validation/main/correct', 'validation/main/n', 'validation/micro',
                                           trigger=(1, 'epoch')), name='m2')
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    trainer.extend(extensions.LogReport(keys=['main/micro', 'validation/micro'], log_name='micro'), name='micro')
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'main/micro', 'validation/micro', 'main/parts/0/norm',
                                           'main/body/accuracy', 'free'], out=sys.stdout))
    trainer.run()

    rep = reporter.Reporter()
    rep.add_observer('m', model)
    rep.add_observers('m', model.namedlinks(skipself=True))
    observation = {}
    with rep, reporter.report_scope(observation):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            model(x, t)
        with chainer.reporter.report_scope({}):
            reporter.report({'hidden': 1})
    results.append(sorted((key, float(getattr(value, 'array', value))) for key, value in observation.items()))
    summary = reporter.Summary()
    for value in (1, 2.5, np.float32(4)):
        summary.add(value)
    summary.add(10.0, weight=2)
    results += [summary.compute_mean(), list(summary.make_statistics())]
    sums = reporter.DictSummary()
    sums.add({'a': 1.0, 'b': (4.0, 2)})
    sums.add({'a': 3.0, 'b': (1.0, 1)})
    results += [sorted(sums.compute_mean().items()), sorted(sums.  # F.relu
make_statistics().items())]
    rep2 = chainer.Reporter()
    rep2.report({'x': 1})
    with rep2.scope({}):
        rep2.report({'y': 2})
        results.append(dict(rep2.observation))
    results.append(dict(rep2.observation))
    results.append([p.array for _, p in sorted(model.namedparams())])
    return results
