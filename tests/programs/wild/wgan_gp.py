"""WGAN with a gradient penalty: a gradient of a gradient, weights clipped by hand, rates that differ."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Variable
from chainer import optimizers
from chainer.backends import cuda


def begin(model):
    pass


class Critic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 9)
            self.l2 = L.Linear(9, 1)

    def forward(self, x):
        return self.l2(F.tanh(self.l1(x)))

    def clip(self, lower, upper):
        for params in self.params():
            params_clipped = F.clip(params, lower, upper)
            params.data = params_clipped.data


class Generator(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(2, 9)
            self.l2 = L.Linear(9, 4)

    def forward(self, z):
        return self.l2(F.elu(self.l1(z)))


def main(out):
    rng = np.random.RandomState(6)
    data = rng.randn(16, 4).astype('f')
    gen, critic = Generator(), Critic()
    begin(gen)
    begin(critic)
    opt_g = optimizers.Adam(alpha=0.01, beta1=0.0, beta2=0.9)
    opt_c = optimizers.Adam(alpha=0.02, beta1=0.0, beta2=0.9)
    opt_g.setup(gen)
    opt_c.setup(critic)
    xp = gen.xp
    record = []
    for step in range(6):
        for _ in range(2):
            z = Variable(xp.asarray(rng.randn(8, 2).astype('f')))
            x_real = Variable(xp.asarray(data[rng.randint(0, 16, 8)]))
            x_fake = gen(z)
            x_fake.unchain()
            e = xp.asarray(rng.uniform(0., 1., (8, 1)).astype('f'))
            x_mid = e * x_real + (1 - e) * x_fake
            x_mid_v = Variable(x_mid.data)
            y_mid = critic(x_mid_v)
            grad, = chainer.grad([y_mid], [x_mid_v], enable_double_backprop=True)
            grad_norm = F.sqrt(F.batch_l2_norm_squared(grad))
            loss_gp = 10.0 * F.mean_squared_error(grad_norm, xp.ones_like(grad_norm.data))
            loss = F.sum(critic(x_fake) - critic(x_real)) / 8 + loss_gp
            critic.cleargrads()
            loss.backward()
            opt_c.update()
        z = Variable(xp.asarray(rng.randn(8, 2).astype('f')))
        loss_g = -F.average(critic(gen(z)))
        gen.cleargrads()
        critic.cleargrads()
        loss_g.backward()
        opt_g.update()
        record.append((float(loss.array), float(loss_gp.array), float(cuda.to_cpu(loss_g.data))))
        if step == 3:
            critic.clip(-0.3, 0.3)
        if step % 2:
            opt_g.alpha -= 0.001
            opt_c.hyperparam.alpha *= 0.9
    return record, critic.l1.W.data, gen.l2.b.data, opt_c.alpha
