"""Iterators of one's own, order samplers, worker processes with a transform, accumulated gradients."""
import copy
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import iterators, training
from chainer.dataset import concat_examples
from chainer.training import extensions


def begin(model):
    pass


class PairIterator(chainer.dataset.Iterator):
    """Neighbours, in the order of a curriculum."""

    def __init__(self, dataset, batch_size, repeat=True):
        self.dataset = dataset
        self.batch_size = batch_size
        self.epoch = 0
        self.is_new_epoch = False
        self.repeat = repeat
        self.iteration = 0
        self.pos = 0

    def __next__(self):
        if not self.repeat and self.iteration * self.batch_size >= len(self.dataset):
            raise StopIteration
        self.iteration += 1
        batch = [self.dataset[(self.pos + i) % len(self.dataset)] for i in range(self.batch_size)]
        self.pos += self.batch_size
        epoch = self.pos // len(self.dataset)
        self.is_new_epoch = self.epoch < epoch
        self.epoch = epoch
        return batch

    @property
    def epoch_detail(self):
        return self.pos / float(len(self.dataset))

    def serialize(self, serializer):
        self.pos = serializer('pos', self.pos)
        self.epoch = serializer('epoch', self.epoch)


class Halves(chainer.iterators.OrderSampler):
    def __call__(self, current_order, current_position):
        n = len(current_order)
        return np.concatenate([np.random.permutation(n // 2), n // 2 + np.random.permutation(n - n // 2)])


def scaled(example):
    x, t = example
    return (x * 2 - 1).astype(np.float32), t


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 7)
            self.l2 = L.Linear(7, 3)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def data(n=23):
    rng = np.random.RandomState(0)
    return [(rng.rand(4).astype(np.float32), np.int32(i % 3)) for i in range(n)]


def look(iterator, n):
    seen = []
    for _ in range(n):
        try:
            batch = iterator.next()
        except StopIteration:
            seen.append('stop')
            break
        seen.append([len(batch), [float(x.sum()) for x, _ in batch], iterator.epoch, iterator.is_new_epoch,
                     iterator.epoch_detail, getattr(iterator, 'previous_epoch_detail', None)])
    return seen


def accumulate(model, optimizer, iterator, parts):
    losses = []
    for step in range(3):
        model.cleargrads()
        total = 0
        for _ in range(parts):
            x, t = concat_examples(iterator.next())
            loss = F.softmax_cross_entropy(model(x), t) / parts
            loss.backward()
            total += float(loss.data)
        optimizer.update()
        losses.append(total)
    return losses


def main(out):
    train = chainer.datasets.TransformDataset(data(), scaled)
    results = []
    model = L.Classifier(Net())
    model(np.zeros((1, 4), 'f'), np.zeros(1, 'i'))
    begin(model)
    for kind in (iterators.SerialIterator, iterators.MultithreadIterator):
        it = kind(train, 6)
        results.append(look(it, 9))
        it = kind(train, 6, repeat=False, shuffle=False)
        results.append(look(it, 6))
        it.reset()
        results.append(look(it, 2))
    it = iterators.MultiprocessIterator(train, 6, n_processes=2, n_prefetch=1)
    results.append(look(it, 9))
    it.finalize()
    it = iterators.MultiprocessIterator(train, 6, repeat=False, shuffle=True, n_processes=1)
    results.append(look(it, 9))
    it.finalize()
    it = iterators.SerialIterator(train, 5, order_sampler=Halves())
    results.append(look(it, 9))
    it = iterators.SerialIterator(train, 5, order_sampler=iterators.ShuffleOrderSampler(np.random.RandomState(4)))
    results.append(look(it, 9))
    it = iterators.SerialIterator(train, 5, order_sampler=lambda order, position: np.arange(len(order))[::-1])
    results.append(look(it, 6))
    results.append(look(copy.copy(it), 2))
    results.append(look(PairIterator(train, 6), 9))

    begin(model)
    optimizer = chainer.optimizers.Adam(0.01)
    optimizer.setup(model.predictor)
    results.append(accumulate(model.predictor, optimizer, iterators.SerialIterator(train, 4), 3))

    begin(model)
    optimizer = chainer.optimizers.SGD(0.1).setup(model)
    updater = training.StandardUpdater(PairIterator(train, 6), optimizer)
    trainer = training.Trainer(updater, (2, 'epoch'), out=out)
    trainer.extend(extensions.Evaluator(PairIterator(train, 6, repeat=False), model))
    trainer.extend(extensions.LogReport(trigger=(1, 'iteration')))
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'validation/main/accuracy'], out=sys.stdout))
    trainer.run()
    results += [p.array for _, p in sorted(model.namedparams())]
    # several batches through update(lossfun)
    for batch in iterators.SerialIterator(train, 8, repeat=False):
        x, t = chainer.dataset.concat_examples(batch)
        optimizer.update(model, x, t)
        results.append([float(model.loss.array), float(model.accuracy.array), optimizer.t])
    return results
