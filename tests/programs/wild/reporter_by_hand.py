"""Reporter, observers, scopes and summaries without a Trainer, and a Trainer around them with snapshots that load themselves."""
import os
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import reporter as R
from chainer import training
from chainer.training import extensions


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 2)

    def forward(self, x, t):
        y = self.fc(x)
        loss = F.softmax_cross_entropy(y, t)
        R.report({'loss': loss, 'y': F.sum(y)}, self)
        R.report({'norm': F.sqrt(F.sum(self.fc.W ** 2))}, self.fc)
        R.report({'count': len(x)})
        return loss


class ReportedLoss(training.Extension):
    """Keeps what it sees and stops the training when asked to."""
    priority = training.PRIORITY_EDITOR
    trigger = (1, 'iteration')

    def __init__(self):
        self.seen = []

    def __call__(self, trainer):
        obs = trainer.observation
        self.seen.append((trainer.updater.iteration, sorted(obs), float(obs['main/loss'].array)
                          if isinstance(obs['main/loss'], chainer.Variable) else float(obs['main/loss'])))
        obs['twice'] = 2 * self.seen[-1][2]
        trainer.reporter.report({'extra': trainer.updater.epoch_detail})

    def on_error(self, trainer, exc, tb):
        self.seen.append(('error', str(exc)))

    def finalize(self):
        self.seen.append('end')


def trainer_of(model, optimizer, data, out, epochs):
    it = chainer.iterators.SerialIterator(data, 4, order_sampler=chainer.iterators.ShuffleOrderSampler(
        np.random.RandomState(5)))
    updater = training.updaters.StandardUpdater(it, optimizer, loss_func=model, loss_scale=8.0)
    trainer = training.Trainer(updater, (epochs, 'epoch'), out)
    trainer.extend(extensions.LogReport(trigger=(1, 'epoch'), filename='log_{epoch}'))
    trainer.extend(extensions.snapshot(filename='snap-{.updater.epoch}', n_retains=2, autoload=True),
                   trigger=(1, 'epoch'))
    trainer.extend(ReportedLoss())
    return trainer


def main(out):
    rng = np.random.RandomState(8)
    x, t = rng.randn(14, 3).astype('f'), rng.randint(0, 2, 14).astype('i')
    model = Net()
    begin(model)
    reporter = chainer.Reporter()
    reporter.add_observer('net', model)
    reporter.add_observers('net', model.namedlinks(skipself=True))
    summary = R.DictSummary()
    single = R.Summary()
    for i in range(3):
        observation = {}
        with reporter.scope(observation):
            model(x[i:i + 4], t[i:i + 4])
        with reporter:
            chainer.report({'plain': i})
        summary.add(observation)
        summary.add({'only': (i, 2.0)})
        single.add(np.float32(i))
    first = {k: float(v) for k, v in summary.compute_mean().items()}
    stats = {k: float(v) for k, v in sorted(summary.make_statistics().items())}
    mean, std = single.make_statistics()
    keys = list(observation)
    left = {k: float(v) for k, v in reporter.observation.items()}

    optimizer = chainer.optimizers.AMSGrad(0.02)
    optimizer.setup(model)
    data = chainer.datasets.TupleDataset(x, t)
    trainer = trainer_of(model, optimizer, data, out, 3)
    trainer.run()
    seen = trainer.get_extension('ReportedLoss').seen
    log = trainer.get_extension('LogReport').log
    again = trainer_of(model, optimizer, data, out, 5)
    again.run()
    try:
        again.run()
    except RuntimeError as error:
        message = str(error)

    @training.make_extension(trigger=(2, 'iteration'), on_error=lambda tr, e, tb: notes.append(repr(e)))
    def fail(trainer):
        raise ValueError('no')

    notes = []
    broken = trainer_of(model, optimizer, data, out + '/broken', 5)
    broken.extend(fail)
    stderr, sys.stderr = sys.stderr, open(os.devnull, 'w')
    try:
        broken.run()
    except ValueError:
        notes.append(broken.get_extension('ReportedLoss').seen[-2:])
    finally:
        sys.stderr = stderr
    return (keys, first, stats, float(mean), float(std), left, seen, [sorted(e) for e in log],
            again.updater.iteration, again.get_extension('ReportedLoss').seen, message, notes, optimizer.t)
