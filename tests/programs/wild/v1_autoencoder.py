#!/usr/bin/env python
# Denoising autoencoder in the way of Chainer 1.5: a bare Chain, Variables made by hand, gradients zeroed by hand.
import numpy as np
import six

import chainer
from chainer import cuda
import chainer.functions as F
import chainer.links as L
from chainer import optimizers


def begin(model):
    pass


n_units = 12
batchsize = 7


def make_data():
    rng = np.random.RandomState(5)
    x = rng.rand(45, 10).astype(np.float32)
    return np.split(x, [32])


def forward(model, x_data, y_data):
    x, t = chainer.Variable(x_data), chainer.Variable(y_data)
    y = F.sigmoid(model.l1(x))
    x_hat = F.sigmoid(model.l2(y))
    return F.mean_squared_error(x_hat, t)


def main(out):
    x_train, x_test = make_data()
    model = chainer.Chain(l1=L.Linear(10, n_units),
                          l2=L.Linear(n_units, 10))
    begin(model)
    optimizer = optimizers.Adam(alpha=0.01)
    optimizer.setup(model)

    N, N_test = len(x_train), len(x_test)
    history = []
    for epoch in six.moves.range(1, 4):
        perm = np.random.permutation(N)
        sum_loss = 0
        for i in six.moves.range(0, N, batchsize):
            y_batch = x_train[perm[i:i + batchsize]]
            x_batch = y_batch.copy()
            x_batch[np.random.rand(*x_batch.shape) < 0.2] = 0
            model.zerograds()
            loss = forward(model, x_batch, y_batch)
            loss.backward()
            optimizer.update()
            sum_loss += float(cuda.to_cpu(loss.data)) * len(y_batch)
        print('epoch', epoch, 'train mean loss={}'.format(round(sum_loss / N, 5)))
        test_loss = forward(model, x_test, x_test)
        history.append((sum_loss / N, float(test_loss.data)))
    return history, model.l1.W.data, optimizer.t, optimizer.lr
