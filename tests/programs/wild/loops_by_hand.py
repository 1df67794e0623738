"""Loops by hand: permutations, dict batches, several optimizers, chained schedules, evaluation in between, saved states."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import cuda, optimizers, serializers
from chainer.backends import cuda as c2
import os


def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self, n):
        super(Net, self).__init__(
            l1=L.Linear(5, n, nobias=True),
            bn=L.BatchNormalization(n),
            l2=L.Linear(n, 3),
        )

    def __call__(self, x):
        return self.l2(F.tanh(self.bn(self.l1(x))))


def forward(model, x_data, y_data, train=True):
    x, t = chainer.Variable(x_data), chainer.Variable(y_data)
    with chainer.using_config('train', train):
        y = model(x)
    return F.softmax_cross_entropy(y, t), F.accuracy(y, t)


class Solver(object):
    def __init__(self, model, optimizer):
        self.model, self.opt = model, optimizer
        self.history = []
        self.best = None

    def fit(self, x, t, epochs, batch):
        n = len(x)
        for epoch in range(1, epochs + 1):
            perm = np.random.permutation(n)
            sum_loss = sum_acc = 0
            for i in range(0, n, batch):
                xb = x[perm[i:i + batch]]
                tb = t[perm[i:i + batch]]
                self.model.cleargrads()
                loss, acc = forward(self.model, xb, tb)
                loss.backward()
                self.opt.update()
                sum_loss += float(cuda.to_cpu(loss.data)) * len(tb)
                sum_acc += float(acc.data) * len(tb)
            vloss, vacc = forward(self.model, x[:7], t[:7], train=False)
            self.history.append((epoch, sum_loss / n, sum_acc / n, float(vloss.data), float(vacc.data)))
            print('epoch {:02d} loss={:.3f} acc={:.2f}'.format(epoch, sum_loss / n, sum_acc / n))
            if self.best is None or vloss.data < self.best:
                self.best = vloss.data
            if epoch % 2 == 0:
                self.opt.lr *= 0.5
        return self.history


def main(out):
    rng = np.random.RandomState(5)
    x, t = rng.randn(22, 5).astype(np.float32), rng.randint(0, 3, 22).astype(np.int32)
    results = []
    model = Net(6)
    begin(model)
    opt = optimizers.MomentumSGD(lr=0.1, momentum=0.7)
    opt.setup(model)
    opt.add_hook(chainer.optimizer.WeightDecay(1e-3))
    opt.add_hook(chainer.optimizer.GradientClipping(0.5))
    solver = Solver(model, opt)
    results.append(solver.fit(x, t, 4, 6))
    results.append(float(solver.best))
    serializers.save_npz(os.path.join(out, 'm.npz'), model)
    serializers.save_npz(os.path.join(out, 'o.npz'), opt)

    # go on from the files
    again = Net(6)
    begin(again)
    opt2 = optimizers.MomentumSGD(lr=0.1, momentum=0.7)
    opt2.setup(again)
    serializers.load_npz(os.path.join(out, 'm.npz'), again)
    serializers.load_npz(os.path.join(out, 'o.npz'), opt2)
    results.append([opt2.t, opt2.lr])
    opt2.lr = opt.lr
    results.append(Solver(again, opt2).fit(x, t, 2, 8))

    # gradients by hand: two losses, scaled, clipped, some parameters frozen
    model = Net(4)
    begin(model)
    model.l1.disable_update()
    opt = optimizers.Adam(alpha=0.01)
    opt.setup(model)
    opt_b = optimizers.SGD(0.05)
    opt_b.setup(model.l2)
    for i in range(5):
        if i == 3:
            model.l1.enable_update()
        loss_a, _ = forward(model, x[:10], t[:10])
        loss_b, _ = forward(model, x[10:], t[10:])
        model.cleargrads()
        loss_a.backward()
        (loss_b * 0.5).backward()
        norm = np.sqrt(sum(float((p.grad ** 2).sum()) for p in model.params() if p.grad is not None))
        if norm > 0.3:
            for p in model.params():
                p.grad *= 0.3 / norm
        opt.update()
        if i % 2:
            opt_b.update()
        results.append([float(loss_a.data), float(loss_b.data), norm])
    # a moving average of the weights, swapped in for the evaluation
    average = model.copy(mode='copy')
    for i in range(3):
        opt.update(lambda a, b: forward(model, a, b)[0], x, t)
        for p, q in zip(average.params(), model.params()):
            p.data[...] = 0.9 * p.data + 0.1 * q.data
    with chainer.no_backprop_mode(), chainer.using_config('train', False):
        results.append([float(F.softmax_cross_entropy(m(x), t).data) for m in (model, average)])
        results.append(F.softmax(average(x)).data[:2])
        pred = average(x).data.argmax(axis=1)
        results.append([int((pred == t).sum()), F.accuracy(average(x), t).data])
    results.append([p.data for _, p in sorted(average.namedparams())])
    results.append([average.bn.avg_mean, model.bn.avg_var])
    # grads inspected, zeroed, added
    model.zerograds()
    loss, acc = forward(model, x, t)
    loss.backward()
    g = {n: p.grad.copy() for n, p in model.namedparams()}
    loss, acc = forward(model, x, t)
    loss.backward()
    results.append([sorted(g), float(abs(model.l2.W.grad - 2 * g['/l2/W']).max()) < 1e-5])
    return results
