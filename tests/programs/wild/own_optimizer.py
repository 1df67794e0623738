"""A GradientMethod and an UpdateRule of one's own, hooks as classes and functions, update() of a target by lambdas."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizer
from chainer.optimizers import SGD


def begin(model):
    pass


class SignSGDRule(optimizer.UpdateRule):
    def __init__(self, parent_hyperparam=None, lr=None, beta=None):
        super(SignSGDRule, self).__init__(parent_hyperparam or optimizer.Hyperparameter())
        if lr is not None:
            self.hyperparam.lr = lr
        if beta is not None:
            self.hyperparam.beta = beta

    def init_state(self, param):
        xp = chainer.cuda.get_array_module(param.data)
        with chainer.cuda.get_device_from_array(param.data):
            self.state['m'] = xp.zeros_like(param.data)

    def update_core(self, param):
        grad = param.grad
        if grad is None:
            return
        m = self.state['m']
        m *= self.hyperparam.beta
        m += (1 - self.hyperparam.beta) * grad
        xp = chainer.cuda.get_array_module(grad)
        param.data -= self.hyperparam.lr * xp.sign(m)


class SignSGD(optimizer.GradientMethod):
    lr = optimizer.HyperparameterProxy('lr')
    beta = optimizer.HyperparameterProxy('beta')

    def __init__(self, lr=0.01, beta=0.9):
        super(SignSGD, self).__init__()
        self.hyperparam.lr = lr
        self.hyperparam.beta = beta

    def create_update_rule(self):
        return SignSGDRule(self.hyperparam)


class GradientNoiseFree(object):
    """Adds a fixed vector to every gradient."""
    name = 'fixed'
    call_for_each_param = False
    timing = 'pre'

    def __init__(self, value):
        self.value = value
        self.norms = []

    def __call__(self, opt):
        total = 0
        for param in opt.target.params():
            if param.grad is None:
                continue
            param.grad += self.value
            total += float((param.grad ** 2).sum())
        self.norms.append(total)


def clip_weights(opt):
    for param in opt.target.params():
        param.data[...] = np.clip(param.data, -0.5, 0.5)


class CountingSGD(SGD):
    def update(self, lossfun=None, *args, **kwds):
        self.count = getattr(self, 'count', 0) + 1
        super(CountingSGD, self).update(lossfun, *args, **kwds)


def main(out):
    rng = np.random.RandomState(1)
    x = rng.randn(12, 3).astype(np.float32)
    t = rng.randn(12, 1).astype(np.float32)
    model = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 1))
    begin(model)
    opt = SignSGD(lr=0.02)
    opt.setup(model)
    hook = GradientNoiseFree(0.01)
    opt.add_hook(hook)
    opt.add_hook(clip_weights, name='clip', timing='post')
    losses = []
    for step in range(6):
        loss = F.mean_squared_error(model(x), t)
        model.cleargrads()
        loss.backward()
        opt.update()
        losses.append(float(loss.data))
        opt.lr *= 0.9
    plain = CountingSGD(0.1)
    plain.setup(model)
    for step in range(4):
        plain.update(lambda a, b: F.mean_squared_error(model(a), b), chainer.Variable(x), chainer.Variable(t))
    with chainer.no_backprop_mode():
        losses.append(float(F.mean_squared_error(model(x), t).data))
    return losses, hook.norms, opt.lr, opt.t, plain.count, plain.t, [p.data for p in model.params()]
