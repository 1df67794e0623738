"""Metric learning with shared weights; datasets with get_example; losses added up in a Variable over an epoch."""
import chainer
from chainer import Chain, Variable, optimizers
from chainer import functions as F
from chainer import links as L
import numpy as np


def begin(model):
    pass


class Pairs(chainer.dataset.DatasetMixin):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x) - 1

    def get_example(self, i):
        return self.x[i], self.x[i + 1], int(self.y[i] == self.y[i + 1])


class Embed(Chain):
    def __init__(self):
        super(Embed, self).__init__(conv1=L.Convolution1D(1, 3, 3), fc=L.Linear(18, 4))

    def __call__(self, x):
        return F.normalize(self.fc(F.relu(self.conv1(x))))


def main(out):
    rng = np.random.RandomState(5)
    x = rng.randn(18, 1, 8).astype(np.float32)
    y = rng.randint(0, 2, 18)
    data = Pairs(x, y)
    net = Embed()
    begin(net)
    opt = optimizers.MSVAG(lr=0.05)
    opt.setup(net)
    opt.add_hook(chainer.optimizer_hooks.GradientLARS(threshold=1e-2))
    it = chainer.iterators.MultithreadIterator(data, 5, n_threads=2)
    sums = []
    for epoch in range(3):
        epoch_loss = Variable(np.zeros((), dtype=np.float32))
        seen = 0
        while it.epoch == epoch:
            a, b, same = chainer.dataset.concat_examples(it.next())
            ya, yb = net(a), net(b)
            loss = F.contrastive(ya, yb, same, margin=1.0)
            loss += 0.01 * F.batch_l2_norm_squared(net.fc.W)[0]
            net.cleargrads()
            loss.backward()
            opt.update()
            epoch_loss += loss.data * len(a)
            seen += len(a)
        sums.append((float(epoch_loss.data) / seen, seen))
    it.finalize()
    anchor, positive, negative = net(x[:6]), net(x[6:12]), net(x[12:])
    triplet = F.triplet(anchor, positive, negative)
    distances = np.linalg.norm(anchor.data[:, None] - positive.data[None], axis=2)
    nearest = distances.argmin(axis=1)
    return sums, float(triplet.data), nearest, distances, data[0:3][1][2]
