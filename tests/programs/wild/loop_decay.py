"""A hand-written loop with iterators, a rate that decays, and accumulated gradients."""
import os

import numpy as np
import chainer
from chainer import functions as F, links as L
from chainer.dataset import concat_examples
from chainer.iterators import SerialIterator
from chainer.optimizers import Adam
from chainer.optimizer_hooks import GradientHardClipping, Lasso, WeightDecay


def begin(model):
    pass


class ConvNet(chainer.Chain):
    def __init__(self, n_class=3):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 4, 3, pad=1, nobias=True)
            self.bn = L.BatchNormalization(4)
            self.fc = L.Linear(4 * 3 * 3, n_class)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.bn(self.conv(x))), 2)
        return self.fc(h)


def evaluate(model, it):
    it.reset()
    losses, accs = [], []
    for batch in it:
        x, t = concat_examples(batch)
        with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
            y = model(x)
            losses.append(F.softmax_cross_entropy(y, t).array)
            accs.append(F.accuracy(y, t).array)
    return np.mean(losses), np.mean(accs)


def main(out):
    rng = np.random.RandomState(1)
    images = rng.rand(41, 1, 6, 6).astype(np.float32)
    labels = [int(i) for i in rng.randint(0, 3, 41)]
    dataset = list(zip(images, labels))
    train, test = dataset[:30], dataset[30:]

    model = ConvNet()
    begin(model)
    optimizer = Adam(alpha=0.003)
    optimizer.setup(model)
    optimizer.add_hook(GradientHardClipping(-0.05, 0.05))
    optimizer.add_hook(WeightDecay(0.01), 'decay')
    optimizer.add_hook(Lasso(0.001), 'lasso')

    train_iter = SerialIterator(train, 8)
    test_iter = SerialIterator(test, 4, repeat=False, shuffle=False)
    accumulate = 2
    log = []
    while train_iter.epoch < 3:
        model.cleargrads()
        total = 0
        for _ in range(accumulate):
            batch = train_iter.next()
            x, t = concat_examples(batch, -1)
            loss = F.softmax_cross_entropy(model(x), t) / accumulate
            loss.backward()
            total += loss.data
            del loss
        optimizer.update()
        log.append((train_iter.epoch, train_iter.epoch_detail, train_iter.is_new_epoch, float(total)))
        if train_iter.is_new_epoch:
            optimizer.alpha *= 0.5
            optimizer.new_epoch()
            log.append(evaluate(model, test_iter))
            if train_iter.epoch == 2:
                optimizer.remove_hook('lasso')
    assert chainer.config.train
    log += [optimizer.alpha, optimizer.lr, optimizer.epoch, optimizer.t, model.bn.avg_mean, model.bn.avg_var]
    log.append(sorted(os.listdir(out)))
    return log
