"""v1.5-1.24: links as keywords of the Chain's constructor, train as an argument, zerograds, volatile Variables."""
import argparse
import time

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import optimizers, serializers, Variable
import numpy as np


def begin(model):
    pass


class MnistMLP(chainer.Chain):
    """Three layers."""

    def __init__(self, n_in, n_units, n_out):
        super(MnistMLP, self).__init__(
            l1=L.Linear(n_in, n_units),
            bn1=L.BatchNormalization(n_units),
            l2=L.Linear(n_units, n_units),
            l3=chainer.Linear(n_units, n_out),
        )

    def __call__(self, x):
        h1 = F.relu(self.bn1(self.l1(x)))
        h2 = F.relu(self.l2(h1))
        return self.l3(h2)


def main(out):
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--epoch', type=int, default=3)
    args = parser.parse_args([])

    xp = np
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        xp = chainer.cuda.cupy

    rng = np.random.RandomState(0)
    x_all = rng.randn(50, 6).astype(np.float32)
    y_all = (x_all.sum(axis=1) > 0).astype(np.int32)
    x_train, x_test = np.split(x_all, [36])
    y_train, y_test = np.split(y_all, [36])
    N, N_test = y_train.size, y_test.size

    model = L.Classifier(MnistMLP(6, 8, 2))
    begin(model)
    if args.gpu >= 0:
        model.to_gpu()
    optimizer = optimizers.MomentumSGD(lr=0.05, momentum=0.9)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.WeightDecay(0.0005))
    optimizer.add_hook(chainer.optimizer.GradientClipping(1.0))

    results = []
    for epoch in range(1, args.epoch + 1):
        perm = np.random.permutation(N)
        sum_accuracy = 0
        sum_loss = 0
        start = time.time()
        for i in range(0, N, 10):
            x = Variable(xp.asarray(x_train[perm[i:i + 10]]))
            t = Variable(xp.asarray(y_train[perm[i:i + 10]]))
            optimizer.update(model, x, t)
            sum_loss += float(model.loss.data) * len(t.data)
            sum_accuracy += float(model.accuracy.data) * len(t.data)
        end = time.time()
        throughput = N / (end - start)
        assert throughput > 0
        results.append((sum_loss / N, sum_accuracy / N))

        sum_accuracy = 0
        sum_loss = 0
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            for i in range(0, N_test, 10):
                x = Variable(xp.asarray(x_test[i:i + 10]))
                t = Variable(xp.asarray(y_test[i:i + 10]))
                loss = model(x, t)
                sum_loss += float(loss.data) * len(t.data)
                sum_accuracy += float(model.accuracy.data) * len(t.data)
        results.append((sum_loss / N_test, sum_accuracy / N_test))
        if epoch == 2:
            optimizer.lr *= 0.1
    serializers.save_npz(out + '/mlp.model', model)
    serializers.save_npz(out + '/mlp.state', optimizer)
    return results
