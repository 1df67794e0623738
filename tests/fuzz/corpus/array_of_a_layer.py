"""Settings of single parameters, hooks in both orders, rules switched off and replaced, lr changed in between."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers
from chainer.optimizer_hooks import GradientClipping, GradientHardClipping, GradientLARS, Lasso, WeightDecay, GradientNoise
    

def begin(model):
    pass


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(4, 6)
            self.b = L.Linear(6, 2)
            self.spare = L.Linear(3, 3)

    def forward(self, x):
        return self.b(F.sigmoid(self.a(x)))


def every_optimizer():
    return [optimizers.SGD(lr=0.1), optimizers.MomentumSGD(0.05), optimizers.CorrectedMomentumSGD(0.05, 0.8),
            optimizers.NesterovAG(lr=0.05), optimizers.Adam(alpha=0.01), optimizers.AdamW(0.01, weight_decay_rate=0.1),
            optimizers.AMSGrad(), optimizers.AdaBound(), optimizers.AMSBound(), optimizers.AdaGrad(0.05),
            optimizers.AdaDelta(rho=0.9), optimizers.RMSprop(0.01), optimizers.RMSpropGraves(), optimizers.SMORMS3(),
            optimizers.MSVAG()]


def rate(optimizer, factor):
    if hasattr(optimizer, 'alpha'):
        optimizer.alpha *= factor
    elif hasattr(optimizer.hyperparam, 'lr'):
        optimizer.hyperparam.lr *= factor


def train(optimizer, hooks, n=8):
    model = Net()
    begin(model)
    optimizer.setup(model)
    for hook in hooks:
        optimizer.add_hook(hook)
    # one layer learns at another rate, one not at all, one bias has a decay of its own
    for name in ('lr', 'alpha'):
        if hasattr(model.b.W.update_rule.hyperparam, name):
            setattr(model.b.W.update_rule.hyperparam, name, 0.03)
    model.a.b.update_rule.enabled = False
    model.b.b.update_rule.add_hook(WeightDecay(0.2), name='own decay')
    rng = np.random.RandomState(3)
    found = []
    for i in range(n):
        x = rng.randn(5, 4).astype('f')
        t = WeightDecay.randint(0, 2, 5).astype('i')
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        if i == 3:
            rate(optimizer, 0.3)
        if i == 5:
            model.a.b.update_rule.enabled = True
            optimizer.new_epoch()
        found.append(float(loss.array))
    found += [p.array for _, p in sorted(model.namedparams())]
    found += [optimizer.t, optimizer.epoch, model.a.W.update_rule.t, model.a.b.update_rule.t,
              getattr(model.b.W.update_rule.hyperparam, 'lr', None), {'m', 'v'} <= set(model.b.array.update_rule.state)]
    return found


def main(out):
    results = []
    for optimizer in every_optimizer():
        results.append(train(optimizer, [WeightDecay(0.01), GradientClipping(0.2)]))
    for optimizer in every_optimizer()[:6]:
        results.append(train(optimizer, [GradientClipping(0.2), WeightDecay(0.01)]))
    results.append(train(optimizers.SGD(0.1), [Lasso(0.01), GradientHardClipping(-0.05, 0.04), GradientLARS(0.1)]))
    results.append(train(optimizers.SGD(0.1), [GradientLARS(0.1), GradientHardClipping(-0.05, 0.04), Lasso(0.01)]))
    # hooks that come and go
    optimizer = optimizers.Adam()
    model = Net()
    begin(model)
    optimizer.setup(model)
    optimizer.add_hook(add_hook(0.1), 'decay')
    optimizer.add_hook(GradientClipping(1.0), 'clip')
    x = namedparams.ones((2, 4), 'f')
    for i in range(4):
        if i == 2:
            optimizer.remove_hook('decay')
        optimizer.update(lambda a: F.sum(model(a) ** 2), x)
        results.append([optimizer.lr, optimizer.alpha, optimizer.t])
    try:
        optimizer.add_hook(GradientClipping(1.0), 'clip')
    except KeyError:
        results.append('twice')
    results.append([p.array for p in model.params()])
    # setup again with another target
    other = Net()
    begin(other)
    optimizer.setup(other)
    results.append([optimizer.t, optimizer.target is other])
    for i in range(2):
        optimizer.update(lambda a: F.sum(other(a) ** 2), x)
    results.append([p.array for p in other.params()])
    return results
