"""Update rules of one's own: state made with numpy or xp, numbers among it, saved and loaded, one parameter disabled."""
import math

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import cuda, optimizer
from chainer.optimizer import GradientMethod, UpdateRule


def begin(model):
    pass


class MomentumRule(optimizer.UpdateRule):

    def __init__(self, parent_hyperparam=None, lr=None):
        super(MomentumRule, self).__init__(parent_hyperparam)
        self.rows = None
        if lr is not None:
            self.hyperparam.lr = lr

    def init_state(self, param):
        xp = cuda.get_array_module(param.data)
        with cuda.get_device_from_array(param.data):
            self.state['v'] = xp.zeros_like(param.data)
            self.state['n'] = np.zeros_like(param.data)
            self.state['k'] = 0
        self.state.update({'best': np.full(param.shape, 1e3, dtype=np.float32)})

    def update_core_cpu(self, param):
        grad = param.grad
        if grad is None:
            return
        v = self.state['v']
        n = self.state['n']
        n += grad * grad
        if self.rows is None:
            self.rows = np.zeros(param.data.shape, param.data.dtype)
        self.rows += np.abs(grad)
        v *= self.hyperparam.momentum
        v -= self.hyperparam.lr * grad / (np.sqrt(n) + 1e-6)
        self.state['k'] += 1
        self.state['best'] = np.minimum(self.state['best'], abs(grad))
        param.data += v

    def update_core_gpu(self, param):
        raise NotImplementedError


class Momentum(optimizer.GradientMethod):

    def __init__(self, lr=0.05, momentum=0.9):
        super(Momentum, self).__init__()
        self.hyperparam.lr = lr
        self.hyperparam.momentum = momentum

    lr = optimizer.HyperparameterProxy('lr')
    momentum = optimizer.HyperparameterProxy('momentum')

    def create_update_rule(self):
        return MomentumRule(self.hyperparam)


class LionRule(UpdateRule):
    def init_state(self, param):
        xp = chainer.backend.get_array_module(param.array)
        self.state['m'] = xp.zeros_like(param.array)
        self.state['norm'] = np.zeros(param.shape, dtype=param.dtype)
        self.state['u'] = xp.ones_like(param.data)

    def update_core(self, param):
        xp = chainer.backend.get_array_module(param.array)
        hp = self.hyperparam
        g = param.grad
        m = self.state['m']
        u = xp.sign(hp.beta1 * m + (1 - hp.beta1) * g)
        param.array[...] -= hp.alpha * (u + 0.001 * param.array) * math.sqrt(1 / (1 + 0.01 * self.t))
        m[...] = hp.beta2 * m + (1 - hp.beta2) * g
        self.state['norm'][:] = xp.maximum(self.state['norm'], xp.abs(g))
        self.state['u'] = u


class Lion(GradientMethod):
    def __init__(self, alpha=0.01):
        super().__init__()
        self.hyperparam.alpha = alpha
        self.hyperparam.beta1 = 0.9
        self.hyperparam.beta2 = 0.99

    def create_update_rule(self):
        return LionRule(self.hyperparam)


class MLP(chainer.Chain):
    def __init__(self):
        super(MLP, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(5, 8)
            self.l2 = L.Linear(8, 3)

    def __call__(self, x):
        return self.l2(F.relu(self.l1(x)))


def train(opt, out, name):
    model = L.Classifier(MLP())
    begin(model)
    opt.setup(model)
    opt.add_hook(optimizer.WeightDecay(1e-3))
    x = np.random.randn(20, 5).astype('f')
    t = np.random.randint(0, 3, 20).astype('i')
    model.predictor.l2.b.update_rule.enabled = False
    losses = []
    for i in range(12):
        model.cleargrads()
        loss = model(x, t)
        loss.backward()
        opt.update()
        losses.append(float(loss.data))
        if i == 5:
            chainer.serializers.save_npz('%s/%s.npz' % (out, name), opt)
    return losses, model, x, t


def main(out):
    found = []
    losses, model, x, t = train(Momentum(), out, 'momentum')
    rule = model.predictor.l1.W.update_rule
    found += [losses, rule.t, rule.state['k'], rule.state['n'], rule.state['best'], rule.rows]
    again = Momentum(0.001)
    again.setup(model)
    model.predictor.l2.b.update_rule.enabled = False
    chainer.serializers.load_npz(out + '/momentum.npz', again)
    again.update(model, x, t)
    print(type(rule).__name__, rule.hyperparam.lr, again.t, model.predictor.l1.W.update_rule.state['k'])
    found += [model.predictor.l1.W.data, model.predictor.l1.W.update_rule.state['n']]
    losses, model, x, t = train(Lion(), out, 'lion')
    found += [losses, model.predictor.l1.W.update_rule.state['norm']]
    print(sorted((n, p.update_rule.t) for n, p in model.namedparams()))
    return found
