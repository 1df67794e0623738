"""Trainer idioms: parallel lists of learning rates, custom converter with padding, seq data, custom dataset with random."""
import argparse
import json
import os
import random
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions, triggers


def begin(model):
    pass


def sequence_embed(embed, xs):
    x_len = [len(x) for x in xs]
    x_section = np.cumsum(x_len[:-1])
    ex = embed(F.concat(xs, axis=0))
    return F.split_axis(ex, x_section, 0)


class Tagger(chainer.Chain):
    def __init__(self, n_vocab, n_units, n_class):
        super(Tagger, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, initialW=chainer.initializers.Uniform(.25))
            self.rnn = L.NStepLSTM(1, n_units, n_units, 0.0)
            self.out = L.Linear(n_units, n_class)

    def __call__(self, xs, ys):
        concat_outputs = self.predict(xs)
        concat_truths = F.concat(ys, axis=0)
        loss = F.softmax_cross_entropy(concat_outputs, concat_truths)
        accuracy = F.accuracy(concat_outputs, concat_truths)
        chainer.reporter.report({'loss': loss.data, 'accuracy': accuracy.data}, self)
        return loss

    def predict(self, xs, softmax=False, argmax=False):
        exs = sequence_embed(self.embed, xs)
        _, _, hs = self.rnn(None, None, exs)
        outputs = self.out(F.concat(hs, axis=0))
        if softmax:
            return F.softmax(outputs).data
        elif argmax:
            return self.xp.argmax(outputs.data, axis=1)
        return outputs


def convert(batch, device):
    def to_device_batch(batch):
        if device is None:
            return batch
        elif device < 0:
            return [chainer.dataset.to_device(device, x) for x in batch]
        else:
            xp = chainer.cuda.cupy.get_array_module(*batch)
            concat = xp.concatenate(batch, axis=0)
            sections = np.cumsum([len(x) for x in batch[:-1]], dtype='i')
            return chainer.cuda.cupy.split(chainer.dataset.to_device(device, concat), sections)
    return {'xs': to_device_batch([x for x, _ in batch]), 'ys': to_device_batch([y for _, y in batch])}


class Seqs(chainer.dataset.DatasetMixin):
    def __init__(self, n, seed=0):
        r = np.random.RandomState(seed)
        self.xs = [r.randint(0, 12, r.randint(2, 7)).astype('i') for _ in range(n)]

    def __len__(self):
        return len(self.xs)

    def get_example(self, i):
        x = self.xs[i]
        if random.random() < 0.0:
            x = x[::-1]
        return x, (x % 3).astype(np.int32)


class CalculateF(chainer.training.Extension):
    trigger = 1, 'epoch'
    priority = chainer.training.PRIORITY_WRITER

    def __init__(self, model, test_data, batch=4, factor=100):
        self.model, self.test_data, self.batch, self.factor = model, test_data, batch, factor

    def __call__(self, trainer):
        with chainer.no_backprop_mode(), chainer.using_config('train', False):
            hits = total = 0
            for i in range(0, len(self.test_data), self.batch):
                xs, ys = zip(*self.test_data[i:i + self.batch])
                got = self.model.predict(list(xs), argmax=True)
                want = np.concatenate(ys)
                hits += int((got == want).sum())
                total += len(want)
        chainer.report({'f': self.factor * hits / total}, self.model)
        chainer.report({'validation/main/f': self.factor * hits / total})


def main(out):
    train, test = Seqs(18), Seqs(7, 1)
    train_iter = chainer.iterators.SerialIterator(train, 5)
    test_iter = chainer.iterators.SerialIterator(test, 5, repeat=False, shuffle=False)
    model = Tagger(12, 6, 3)
    begin(model)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.WeightDecay(1e-4))
    updater = training.updaters.StandardUpdater(train_iter, optimizer, converter=convert, device=-1)
    trainer = training.Trainer(updater, (4, 'epoch'), out=out)
    trainer.extend(extensions.Evaluator(test_iter, model, converter=convert, device=-1))
    trainer.extend(CalculateF(model, test))
    record_trigger = triggers.MaxValueTrigger('validation/main/accuracy', (1, 'epoch'))
    trainer.extend(extensions.snapshot_object(model, 'best_model.npz'), trigger=record_trigger)
    trainer.extend(extensions.LogReport(['main/loss', 'validation/main/loss', 'validation/main/f', 'main/f', 'lr']))
    trainer.extend(extensions.observe_lr(), trigger=(1, 'epoch'))
    trainer.extend(extensions.ExponentialShift('alpha', 0.8), trigger=triggers.ManualScheduleTrigger([1, 3], 'epoch'))
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'main/f', 'validation/main/loss', 'lr'],
                                          out=sys.stdout))
    trainer.extend(extensions.PlotReport(['main/loss', 'validation/main/loss'], 'epoch', file_name='loss.png')) \
        if extensions.PlotReport.available() else None
    trainer.extend(extensions.snapshot(filename='snapshot_epoch_{.updater.epoch}'), trigger=(2, 'epoch'))
    args = argparse.Namespace(epoch=4, unit=6)
    with open(os.path.join(out, 'args.json'), 'w') as f:
        json.dump(args.__dict__, f)
    trainer.run()
    chainer.serializers.load_npz(os.path.join(out, 'best_model.npz'), model)
    with chainer.using_config('train', False):
        return model.predict([x for x, _ in test[:3]], softmax=True)
