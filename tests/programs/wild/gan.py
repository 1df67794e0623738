"""Two networks, two optimizers, an updater of its own, a visualising extension and several snapshot objects."""
import sys
import argparse
import os

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Variable
from chainer import training
from chainer.training import extensions


def begin(model):
    pass


class Generator(chainer.Chain):

    def __init__(self, n_hidden=4):
        super(Generator, self).__init__()
        self.n_hidden = n_hidden
        with self.init_scope():
            w = chainer.initializers.Normal(0.2)
            self.l0 = L.Linear(self.n_hidden, 8, initialW=w, nobias=True)
            self.bn0 = L.BatchNormalization(8)
            self.l1 = L.Linear(8, 6, initialW=w)

    def make_hidden(self, batchsize):
        return np.random.uniform(-1, 1, (batchsize, self.n_hidden)).astype(np.float32)

    def __call__(self, z):
        return F.sigmoid(self.l1(F.relu(self.bn0(self.l0(z)))))


class Discriminator(chainer.Chain):

    def __init__(self):
        super(Discriminator, self).__init__()
        with self.init_scope():
            self.l0 = L.Linear(6, 8)
            self.l1 = L.Linear(8, 1)

    def __call__(self, x):
        return self.l1(F.leaky_relu(self.l0(x)))


class DCGANUpdater(chainer.training.updaters.StandardUpdater):

    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        self.n_dis = kwargs.pop('n_dis', 2)
        super(DCGANUpdater, self).__init__(*args, **kwargs)

    def loss_dis(self, dis, y_fake, y_real):
        batchsize = len(y_fake)
        L1 = F.sum(F.softplus(-y_real)) / batchsize
        L2 = F.sum(F.softplus(y_fake)) / batchsize
        loss = L1 + L2
        chainer.report({'loss': loss}, dis)
        return loss

    def loss_gen(self, gen, y_fake):
        batchsize = len(y_fake)
        loss = F.sum(F.softplus(-y_fake)) / batchsize
        chainer.report({'loss': loss}, gen)
        return loss

    def update_core(self):
        gen_optimizer = self.get_optimizer('gen')
        dis_optimizer = self.get_optimizer('dis')
        xp = self.gen.xp
        for i in range(self.n_dis):
            batch = self.get_iterator('main').next()
            x_real = Variable(self.converter(batch, self.device)) / 1.5
            batchsize = len(batch)
            y_real = self.dis(x_real)
            z = Variable(xp.asarray(self.gen.make_hidden(batchsize)))
            x_fake = self.gen(z)
            y_fake = self.dis(x_fake)
            if i == 0:
                gen_optimizer.update(self.loss_gen, self.gen, y_fake)
            x_fake.unchain_backward()
            dis_optimizer.update(self.loss_dis, self.dis, y_fake, y_real)


def sample(gen, dst, rows=2):
    @chainer.training.make_extension()
    def make_sample(trainer):
        np.random.seed(trainer.updater.iteration)
        z = Variable(gen.xp.asarray(gen.make_hidden(rows)))
        with chainer.using_config('train', False):
            x = gen(z)
        x = chainer.backends.cuda.to_cpu(x.array)
        x = np.asarray(np.clip(x * 255, 0.0, 255.0), dtype=np.uint8)
        preview_dir = '{}/preview'.format(dst)
        if not os.path.exists(preview_dir):
            os.makedirs(preview_dir)
        np.savetxt(preview_dir + '/sample{:0>8}.txt'.format(trainer.updater.iteration), x, fmt='%d')
    return make_sample


def make_optimizer(model, alpha=0.002, beta1=0.5):
    optimizer = chainer.optimizers.Adam(alpha=alpha, beta1=beta1)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.0001), 'hook_dec')
    return optimizer


def main(out):
    parser = argparse.ArgumentParser(description='GAN')
    parser.add_argument('--batchsize', '-b', type=int, default=5)
    parser.add_argument('--display_interval', type=int, default=3)
    args = parser.parse_args([])
    gen, dis = Generator(), Discriminator()
    begin(gen)
    begin(dis)
    opt_gen, opt_dis = make_optimizer(gen), make_optimizer(dis)
    train = np.random.RandomState(3).rand(23, 6).astype(np.float32)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    updater = DCGANUpdater(
        models=(gen, dis), iterator=train_iter,
        optimizer={'gen': opt_gen, 'dis': opt_dis}, device=-1)
    trainer = training.Trainer(updater, (3, 'epoch'), out=out)
    display_interval = (args.display_interval, 'iteration')
    trainer.extend(extensions.snapshot(filename='snapshot_iter_{.updater.iteration}.npz'), trigger=(4, 'iteration'))
    trainer.extend(extensions.snapshot_object(gen, 'gen_iter_{.updater.iteration}.npz'), trigger=(4, 'iteration'))
    trainer.extend(extensions.snapshot_object(dis, 'dis_iter_{.updater.iteration}.npz'), trigger=(4, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=display_interval))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'gen/loss', 'dis/loss'], out=sys.stdout), trigger=display_interval)
    trainer.extend(sample(gen, out), trigger=(4, 'iteration'), priority=training.PRIORITY_WRITER + 1)
    trainer.run()
    return gen.l1.W.data, dis.l1.W.data, gen.bn0.avg_var, opt_gen.t, opt_dis.t, updater.iteration
