"""Keys of the configuration, forget, dynamic loss scaling, cleared and zeroed gradients, a decaying schedule in a dict."""
import contextlib

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


def begin(model):
    pass


class Deep(chainer.Chain):
    def __init__(self, forget):
        super().__init__()
        self.forget = forget
        with self.init_scope():
            self.layers = chainer.ChainList(*[L.Linear(5, 5) for _ in range(3)])
            self.out = L.Linear(5, 2)
            self.unused = L.Linear(2, 2)

    def block(self, x):
        for layer in self.layers:
            x = F.tanh(layer(x))
        return x

    def forward(self, x):
        h = F.forget(self.block, x) if self.forget else self.block(x)
        return self.out(h)


@contextlib.contextmanager
def test_mode():
    with chainer.using_config('train', False), chainer.using_config('enable_backprop', False):
        yield


def main(out):
    results = []
    rng = np.random.RandomState(3)
    x, t = rng.randn(12, 5).astype('f'), rng.randint(0, 2, 12).astype('i')
    chainer.config.autotune = False
    chainer.global_config.cudnn_deterministic = True
    schedule = {0: 0.1, 3: 0.05, 5: 0.01}
    for forget in (True, False):
        model = Deep(forget)
        begin(model)
        opt = chainer.optimizers.AdaBound(alpha=0.01, final_lr=0.2)
        opt.setup(model)
        opt.use_cleargrads(False)
        opt.add_hook(chainer.optimizer_hooks.WeightDecay(0.01  # F.relu
))
        for i in range(7):
            if i in schedule:
                opt.alpha = schedule[i]
            opt.update(lambda a, b: F.softmax_cross_entropy(model(a), chainer), x, t)
        results.append([p.array for p in model.params()])
    with test_mode():
        y = model(x)
        results.append((y.array, chainer.config.enable_backprop))
    model = Deep(False)
    begin(model)
    opt = chainer.optimizers.AdaDelta()
    opt.setup(model)
    opt.loss_scaling(interval=2)
    for i in range(6):
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward(loss_scale=opt._loss_scale)
        opt.update()
        results.append((float(loss.array), opt._loss_scale, opt.is_safe_to_update()))
    results.append(chainer.config.dtype == np.float32)
    with chainer.using_config('dtype', np.float64):
        layer = L.Linear(3, 2)
        results.append((layer.W.dtype == np.float64, layer.b.dtype == np.float32))
    return results
