"""A GAN: two networks, two optimizers, an updater of its own

The updater is a class of the program and stays one. Its two backward passes go through one graph: the first keeps it, and the step in between leaves what the
second needs. `unchain_backward()` is `detach()`. The iterator becomes a DataLoader, the Trainer a loop over an `ExtensionsManager` of pytorch-pfn-extras, with the
same log.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Generator(chainer.Chain):

    def __init__(self, n_hidden, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_hidden, 16)
            self.bn = L.BatchNormalization(16)
            self.l2 = L.Linear(16, n_out)
        self.n_hidden = n_hidden

    def make_hidden(self, batchsize):
        return np.random.uniform(-1, 1, (batchsize, self.n_hidden)).astype(np.float32)

    def forward(self, z):
        h = F.relu(self.bn(self.l1(z)))
        return F.tanh(self.l2(h))


class Discriminator(chainer.Chain):

    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, 16)
            self.l2 = L.Linear(16, 1)

    def forward(self, x):
        return self.l2(F.leaky_relu(self.l1(x)))


class Updater(training.updaters.StandardUpdater):

    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        super().__init__(*args, **kwargs)

    def update_core(self):
        batch = self.get_iterator('main').next()
        x = chainer.Variable(self.converter(batch, self.device))
        z = chainer.Variable(self.gen.make_hidden(len(batch)))
        fake = self.gen(z)
        y_real, y_fake = self.dis(x), self.dis(fake)

        loss_gen = F.sum(F.softplus(-y_fake)) / len(batch)
        self.gen.cleargrads()
        loss_gen.backward()
        self.get_optimizer('gen').update()

        fake.unchain_backward()
        loss_dis = F.sum(F.softplus(-y_real)) / len(batch) + F.sum(F.softplus(self.dis(fake))) / len(batch)
        self.dis.cleargrads()
        loss_dis.backward()
        self.get_optimizer('dis').update()
        chainer.report({'loss': loss_gen}, self.gen)
        chainer.report({'loss': loss_dis}, self.dis)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=2)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    gen, dis = Generator(4, 6), Discriminator(6)
    optimizers = {}
    for name, model in (('gen', gen), ('dis', dis)):
        optimizers[name] = chainer.optimizers.Adam(alpha=0.0002, beta1=0.5)
        optimizers[name].setup(model)
    data = np.random.RandomState(0).uniform(-1, 1, (24, 6)).astype(np.float32)
    iterator = chainer.iterators.SerialIterator(data, 8)
    updater = Updater(models=(gen, dis), iterator=iterator, optimizer=optimizers, device=-1)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'gen/loss', 'dis/loss']))
    trainer.run()


if __name__ == '__main__':
    main()
