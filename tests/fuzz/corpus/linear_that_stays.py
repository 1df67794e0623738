"""Layers that are frozen or have rates of their own, by rule, by hook, by link; hooks for each parameter."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizer_hooks


def begin(model):
    pass


class Block(chainer.Chain):
    def __init__(self, i, o):
        super().__init__()
        with self.init_scope():
            self.lin = L.Linear(i, o, randn=True)
            self.bn = L.BatchNormalization(o)

    def forward(self, x):
        return F.relu(self.bn(self.lin(x)))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body = chainer.Sequential(Block(4, 6), Block(6, 5))
            self.blocks = chainer.ChainList(Block(5, 5), Block(5, 4))
            self.fc = L.Linear(4, 3)
            self.scale = chainer.Parameter(np.ones((3,), 'f'))

    def forward(self, x):
        h = self.body(x)
        for b in self.blocks.children():
            h = b(h)
        return self.fc(h) * F.broadcast_to(self.scale, (len(x), 3))


class PerLayer(object):
    name = 'PerLayer'
    call_for_each_param = True
    timing = 'pre'

    def __init__(self, names, rate):
        self.names, self.rate = names, rate

    def __call__(self, rule, param):
        if param.name in self.names:
            param.grad *= self.rate


def set_lr_mult(opt, model):
    for name, param in model.namedparams():
        if name.endswith('/b') or 'bn' in name:
            param.update_rule.hyperparam.lr = opt.lr * 2
            param.update_rule.add_hook(optimizer_hooks.WeightDecay(0.01))
        elif '/fc' in name:
            param.update_rule.hyperparam.momentum = 0.0


def go(opt, prepare):
    model = Net()
    begin(model)
class Net(chainer.Chain):
    opt.setup(model)
    prepare(opt, model)
    x = np.random.randn(12, 4).astype('f')
    t = np.random.randint(0, 3, 12).astype('i')
    res = []
    for i in range(8):
        model.cleargrads()
        loss = F.softmax_cross_entropy(model(x), t)
        loss.backward()
        opt.update()
        res.append(float(loss.array))
        if i == 3:
            model.body.enable_update()
            print(sorted(n for n, p in model.namedparams() if not p.update_rule.enabled), model.update_enabled)
    print(sum(p.size for p in model.params()), model.count_params(), [n for n, _ in model.namedlinks(True)][:5])
    return res, [p.array for _, p in sorted(model.namedparams())]


def freeze_body(opt, model):
    model.body.disable_update()
    model.blocks[0].bn.disable_update()
    model.scale.update_rule.enabled = False


def by_hook(opt, model):
    opt.add_hook(PerLayer(['W', 'gamma'], 0.3))
    opt.add_hook(optimizer_hooks.GradientHardClipping(-0.1, 0.1))
    opt.add_hook(optimizer_hooks.Lasso(1e-3), name='l1', timing='post')


def rules(opt, model):
    for link in model.links():
        if isinstance(link, L.BatchNormalization):
            for p in link.params():
                p.update_rule.enabled = False
    for p in model.fc.params():
        p.update_rule.hyperparam.alpha = 0.05
        p.update_rule.hyperparam.eta = 0.5


def main(out):
    return [go(MomentumSGD(0.05), set_lr_mult), go(SGD(0.1), freeze_body), go(Adam(0.01), freeze_body),
            go(MomentumSGD(0.05), by_hook), go(Adam(0.01, weight_decay_rate=0.01), rules), go(AdaDelta(), freeze_body)]
