"""Variable-length sequences through NStepLSTM, a converter of its own, padding, and a dict batch into the model."""
import sys
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import reporter, training
from chainer.backends import cuda
from chainer.dataset import convert
from chainer.training import extensions


def begin(model):
    pass


def sequence_embed(embed, xs):
    x_len = [len(x) for x in xs]
    x_section = np.cumsum(x_len[:-1])
    ex = embed(F.concat(xs, axis=0))
    exs = F.split_axis(ex, x_section, 0)
    return exs


class Tagger(chainer.Chain):
    def __init__(self, n_vocab, n_units, n_tags):
        super(Tagger, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, ignore_label=-1)
            self.encoder = L.NStepBiLSTM(1, n_units, n_units, 0.0)
            self.out = L.Linear(2 * n_units, n_tags)

    def __call__(self, xs, ts, weight=1.0):
        exs = sequence_embed(self.embed, xs)
        _, _, ys = self.encoder(None, None, exs)
        y = self.out(F.concat(ys, axis=0))
        t = F.concat(ts, axis=0)
        loss = F.softmax_cross_entropy(y, t, ignore_label=-1)
        n_words = t.shape[0]
        reporter.report({'loss': loss.data, 'words': n_words}, self)
        reporter.report({'accuracy': F.accuracy(y, t, ignore_label=-1)}, self)
        return loss * weight

    def predict(self, xs):
        with chainer.no_backprop_mode(), chainer.using_config('train', False):
            exs = sequence_embed(self.embed, xs)
            ys = self.encoder(None, None, exs)[2]
            return [cuda.to_cpu(self.out(y).data.argmax(axis=1)) for y in ys]


@chainer.dataset.converter()
def converter(batch, device):
    return {
        'xs': [device.send(x) for x, _ in batch],
        'ts': [device.send(t) for _, t in batch],
    }


def old_converter(batch, device):
    def to_device_batch(items):
        if device is None or device < 0:
            return items
        return [chainer.dataset.to_device(device, x) for x in items]
    return {'xs': to_device_batch([x for x, _ in batch]), 'ts': to_device_batch([t for _, t in batch])}


def main(out):
    rng = np.random.RandomState(0)
    data = []
    for _ in range(19):
        n = rng.randint(2, 6)
        t = rng.randint(0, 3, n).astype(np.int32)
        t[0] = -1
        data.append((rng.randint(0, 8, n).astype(np.int32), t))
    model = Tagger(8, 4, 3)
    begin(model)
    optimizer = chainer.optimizers.AdaGrad(0.05)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data[:13], 5)
    test_iter = chainer.iterators.SerialIterator(data[13:], 4, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, converter=converter, device=-1)
    trainer = training.Trainer(updater, (3, 'epoch'), out=out)
    evaluator = extensions.Evaluator(test_iter, model, converter=old_converter, device=-1)
    evaluator.name = 'dev'
    trainer.extend(evaluator, trigger=(1, 'epoch'))
    trainer.extend(extensions.MicroAverage('main/loss', 'main/words', 'main/per_word', trigger=(2, 'iteration')))
    trainer.extend(extensions.LogReport(trigger=(2, 'iteration')))
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'main/accuracy', 'dev/main/loss', 'dev/main/words'], out=sys.stdout))
    trainer.run()
    padded = convert.concat_examples(data[:3], padding=-1)
    extra = model([x for x, _ in data[:2]], [t for _, t in data[:2]])
    return model.predict([x for x, _ in data[:4]]), padded, float(extra.array), updater.previous_epoch_detail
