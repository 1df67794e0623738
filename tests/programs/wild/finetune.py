"""Fine-tuning: frozen layers, rates and decay of single parameters, an optimizer on one part only."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers
from chainer.optimizer import WeightDecay


def begin(model):
    pass


class Body(chainer.Chain):
    def __init__(self):
        super(Body, self).__init__()
        with self.init_scope():
            self.c1 = L.Linear(6, 8)
            self.bn = L.BatchNormalization(8)
            self.c2 = L.Linear(8, 8)

    def __call__(self, x):
        return F.relu(self.c2(F.relu(self.bn(self.c1(x)))))


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.body = Body()
            self.fc = L.Linear(8, 3)
            self.spare = L.Linear(2, 2)

    def __call__(self, x):
        with chainer.using_config('train', False):
            h = self.body(x)
        return self.fc(h)


def lr_of(optimizer, params, factor):
    for param in params:
        param.update_rule.hyperparam.alpha = optimizer.alpha * factor


def main(out):
    rng = np.random.RandomState(9)
    x = rng.randn(20, 6).astype('f')
    t = rng.randint(0, 3, 20).astype('i')
    results = []

    # 1: whole model, the body frozen for the first epoch; a decay on weights only
    model = Net()
    begin(model)
    optimizer = optimizers.Adam(0.01)
    optimizer.setup(model)
    model.body.disable_update()
    for param in model.params():
        if param.name != 'b':
            param.update_rule.add_hook(WeightDecay(0.1))
    for epoch in range(3):
        if epoch == 1:
            model.body.enable_update()
            lr_of(optimizer, model.body.params(), 0.1)
        if epoch == 2:
            model.fc.W.update_rule.enabled = False
        for i in range(0, 20, 6):
            y = model(x[i:i + 6])
            loss = F.softmax_cross_entropy(y, t[i:i + 6])
            model.cleargrads()
            loss.backward()
            optimizer.update()
            results.append(float(loss.array))
    results.append([(name, p.array.copy()) for name, p in sorted(model.namedparams())])
    results.append([(name, p.update_rule.enabled, p.update_rule.t) for name, p in sorted(model.namedparams())])

    # 2: optimizers on parts
    model = Net()
    begin(model)
    head = optimizers.NesterovAG(lr=0.1).setup(model.fc)
    body = optimizers.RMSprop(lr=0.001).setup(model.body)
    for i in range(4):
        loss = F.softmax_cross_entropy(model(x), t)
        model.zerograds()
        loss.backward()
        head.update()
        if i % 2:
            body.update()
        results.append(float(loss.data))
    results.append((model.spare.W.array, model.fc.W.array, model.body.c1.W.array))

    # 3: an update without new gradients, and gradients scaled by hand
    model = Net()
    begin(model)
    optimizer = optimizers.MomentumSGD(0.1)
    optimizer.setup(model)
    loss = F.softmax_cross_entropy(model(x), t)
    model.cleargrads()
    loss.backward()
    for name, p in model.namedparams():
        if p.grad is not None:
            p.grad *= 0.5
            if name.endswith('/b'):
                p.grad[...] = 0
    optimizer.update()
    optimizer.update()
    results.append(sum(float((p.data ** 2).sum()) for p in model.params()))
    results.append(np.sqrt(sum((p.grad ** 2).sum() for p in model.params() if p.grad is not None)))
    return results
