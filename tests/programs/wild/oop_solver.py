"""A class that owns everything: optimizers by name, k-fold cross-validation, models in a dict, logs by hand."""
import json
import logging
import os
from collections import OrderedDict, defaultdict

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import iterators, optimizers, serializers

logger = logging.getLogger(__name__)


def begin(model):
    pass


ACTIVATIONS = {'relu': F.relu, 'leaky': F.leaky_relu, 'elu': F.elu}


class Encoder(chainer.ChainList):
    def __init__(self, sizes, activation='leaky'):
        super(Encoder, self).__init__()
        for n_in, n_out in zip(sizes, sizes[1:]):
            self.add_link(L.Linear(n_in, n_out))
        self.activation = ACTIVATIONS[activation]

    def __call__(self, x):
        for link in self.children():
            x = self.activation(link(x))
        return x


class Solver(object):
    def __init__(self, config):
        self.config = config
        self.models = OrderedDict()
        self.models['enc'] = Encoder([5, 7, 4])
        self.models['head'] = L.Linear(4, 2)
        for model in self.models.values():
            begin(model)
        self.optimizers = {}
        for name, model in self.models.items():
            opt = self.make_optimizer(name)
            opt.setup(model)
            if config['decay']:
                opt.add_hook(chainer.optimizer.WeightDecay(config['decay']))
            self.optimizers[name] = opt
        self.log = defaultdict(list)

    def make_optimizer(self, name):
        if self.config[name] == 'adam':
            return optimizers.Adam(alpha=self.config['lr'], beta1=0.5)
        elif self.config[name] == 'sgd':
            return optimizers.SGD(lr=self.config['lr'])
        raise ValueError(name)

    def loss(self, x, t):
        h = self.models['enc'](x)
        y = self.models['head'](h)
        return F.softmax_cross_entropy(y, t), F.accuracy(y, t)

    def fit(self, train, epochs):
        it = iterators.SerialIterator(train, self.config['batch'], shuffle=True)
        for epoch in range(epochs):
            total, count = 0., 0
            for batch in it:
                x, t = chainer.dataset.concat_examples(batch)
                loss, acc = self.loss(x, t)
                for model in self.models.values():
                    model.cleargrads()
                loss.backward()
                for opt in self.optimizers.values():
                    opt.update()
                total += float(loss.data) * len(batch)
                count += len(batch)
                if it.is_new_epoch:
                    break
            self.log['loss'].append(total / count)
            self.log['count'].append(count)

    @property
    def lr(self):
        return {name: opt.lr for name, opt in self.optimizers.items()}

    def score(self, test):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            x, t = chainer.dataset.concat_examples(test[:])
            loss, acc = self.loss(x, t)
        return {'loss': float(loss.data), 'acc': float(acc.data)}

    def save(self, out):
        for name, model in self.models.items():
            serializers.save_npz(os.path.join(out, name + '.npz'), model)
        for name, opt in self.optimizers.items():
            serializers.save_npz(os.path.join(out, 'opt_' + name + '.npz'), opt)

    def load(self, out):
        for name in self.models:
            serializers.load_npz(os.path.join(out, name + '.npz'), self.models[name])
            serializers.load_npz(os.path.join(out, 'opt_' + name + '.npz'), self.optimizers[name])


def main(out):
    rng = np.random.RandomState(6)
    x = rng.randn(31, 5).astype(np.float32)
    data = chainer.datasets.TupleDataset(x, (x[:, 0] > x[:, 1]).astype(np.int32))
    scores = []
    config = dict(enc='adam', head='sgd', lr=0.02, decay=1e-3, batch=6)
    folds = chainer.datasets.get_cross_validation_datasets_random(data, 3, seed=1)
    for fold, (train, test) in enumerate(folds):
        solver = Solver(config)
        solver.fit(train, 2)
        scores.append((len(train), len(test), solver.score(test), dict(solver.log), solver.lr))
    solver.save(out)
    other = Solver(config)
    other.load(out)
    solver.fit(train, 1)
    np.random.seed(3)
    other.fit(train, 1)
    scores.append((other.log['loss'], other.lr))
    with open(os.path.join(out, 'scores.json'), 'w') as f:
        json.dump(scores, f, indent=2)
    return scores
