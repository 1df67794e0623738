"""Updaters of one's own: several models and losses, a loss_func with keywords, dict and tuple batches, a converter."""
import os
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


def begin(model):
    pass


class Gen(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 4)

    def make(self, n):
        return np.random.uniform(-1, 1, (n, 3)).astype(np.float32)

    def forward(self, z):
        return F.tanh(self.l(z))


class GanUpdater(training.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop('models')
        self.n_dis = kwargs.pop('n_dis', 1)
        super(GanUpdater, self).__init__(*args, **kwargs)

    def update_core(self):
        gen_opt, dis_opt = self.get_optimizer('gen'), self.get_optimizer('dis')
        for k in range(self.n_dis):
            batch = self.get_iterator('main').next()
            x_real = chainer.Variable(self.converter(batch, self.device)) / 2.
            xp = chainer.backends.cuda.get_array_module(x_real.data)
            x_fake = self.gen(chainer.Variable(xp.asarray(self.gen.make(len(batch)))))
            y_real, y_fake = self.dis(x_real), self.dis(x_fake)
            if k == 0:
                loss = F.sum(F.softplus(-y_fake)) / len(batch)
                self.gen.cleargrads()
                loss.backward()
                gen_opt.update()
                chainer.report({'loss': loss}, self.gen)
            x_fake.unchain_backward()
            loss = F.sum(F.softplus(-y_real)) / len(batch) + F.sum(F.softplus(y_fake)) / len(batch)
            self.dis.cleargrads()
            loss.backward()
            dis_opt.update()
            chainer.reporter.report({'loss': loss, 'real': F.mean(y_real), 'std': float(xp.std(y_fake.data))}, self.dis)


def sample(gen, rows, dst):
    @training.make_extension()
    def make_image(trainer):
        np.random.seed(0)
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            x = gen(chainer.Variable(gen.make(rows)))
        x = chainer.backends.cuda.to_cpu(x.data)
        np.savez(os.path.join(trainer.out, 'made_{:0>4}.npz'.format(trainer.updater.iteration)),
                 np.asarray(np.clip(x * 127 + 128, 0, 255), dtype=np.uint8))
    return make_image


class DictNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(4, 1)

    def forward(self, x, t, w=None):
        y = self.l(x)[:, 0]
        e = (y - t) ** 2
        loss = F.sum(e * w) / F.sum(w) if w is not None else F.mean(e)
        chainer.report({'loss': loss, 'y': F.mean(y)}, self)
        return loss


def to_batch(batch, device=None, padding=None):
    x, t = zip(*batch)
    return {'x': np.stack(x), 't': np.array(t, np.float32), 'w': np.arange(1, len(t) + 1, dtype=np.float32)}


def main(out):
    results = []
    rng = np.random.RandomState(0)
    real = rng.randn(30, 4).astype(np.float32)
    gen, dis = Gen(), L.Linear(4, 1)
    begin(gen)
    begin(dis)

    def opt(model, alpha):
        o = chainer.optimizers.Adam(alpha=alpha, beta1=0.5)
        o.setup(model)
        o.add_hook(chainer.optimizer_hooks.WeightDecay(0.001), 'hook_dec')
        return o

    og, od = opt(gen, 0.01), opt(dis, 0.02)
    it = chainer.iterators.SerialIterator(real, 8)
    updater = GanUpdater(models=(gen, dis), iterator=it, optimizer={'gen': og, 'dis': od}, n_dis=2, device=-1)
    trainer = training.Trainer(updater, (9, 'iteration'), out=os.path.join(out, 'gan'))
    trainer.extend(extensions.snapshot_object(gen, 'gen_{.updater.iteration}.npz'), trigger=(4, 'iteration'))
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'gen/loss', 'dis/loss', 'dis/std'], out=sys.stdout),
                   trigger=(2, 'iteration'))
    trainer.extend(sample(gen, 3, out), trigger=(4, 'iteration'))
    trainer.extend(extensions.observe_lr('gen'), trigger=(2, 'iteration'))
    trainer.run()
    results += [[p.data for p in m.params()] for m in (gen, dis)]
    results += [updater.epoch, updater.epoch_detail, updater.previous_epoch_detail, updater.is_new_epoch,
                sorted(updater.get_all_optimizers()), updater.get_iterator('main') is it]

    data = [(row, row.sum()) for row in real]
    for kind in ('dict', 'tuple', 'loss'):
        model = DictNet()
        begin(model)
        o = chainer.optimizers.SGD(0.05).setup(model)
        it = chainer.iterators.SerialIterator(data, 7, shuffle=False)
        if kind == 'dict':
            updater = training.updaters.StandardUpdater(it, o, converter=to_batch)
        elif kind == 'tuple':
            updater = training.updaters.StandardUpdater(it, o, auto_new_epoch=True)
        else:
            updater = training.updaters.StandardUpdater({'main': it}, {'main': o}, loss_func=lambda x, t: 2 * model(x, t),
                                                        loss_scale=4.0)
        trainer = training.Trainer(updater, (2, 'epoch'), out=os.path.join(out, kind), extensions=None)
        ev = extensions.Evaluator(chainer.iterators.SerialIterator(data[:9], 4, repeat=False, shuffle=False), model,
                                  converter=to_batch if kind == 'dict' else chainer.dataset.concat_examples)
        trainer.extend(ev)
        trainer.extend(extensions.LogReport())
        trainer.run()
        results.append([p.data for p in model.params()])
        results.append(sorted((k, float(v)) for k, v in ev().items()))
        results.append([o.t, o.epoch, chainer.config.train])
    # by hand, without a trainer
    updater.update()
    updater.update()
    results.append([updater.iteration, updater.epoch])
    updater.finalize()
    return results
