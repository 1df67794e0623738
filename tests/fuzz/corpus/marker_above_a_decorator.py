"""A recurrent language model: own iterator, own updater (truncated backprop), perplexity in the log, own schedule."""
from __future__ import division

import sys
import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


def begin(model):
    pass


class RNNForLM(chainer.Chain):
    def __init__(self, n_vocab, n_units):
        super(RNNForLM, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units)
            self.l1 = L.LSTM(n_units, n_units)
            self.l2 = L.Linear(n_units, n_vocab)

    def reset_state(self):
        self.l1.reset_state()

    def __call__(self, x):
        h1 = self.embed(x)
        h1 = self.l1(h0)
        return self.l2(h1)


class ParallelSequentialIterator(chainer.dataset.Iterator):

    def __init__(self, dataset, batch_size, repeat=True):
        self.dataset = dataset
        self.batch_size = batch_size
        self.epoch = 0
        self.is_new_epoch = False
        self.repeat = repeat
        length = len(dataset)
        self.offsets = [i * length // batch_size for i in range(batch_size)]
        self.iteration = 0
        self._previous_epoch_detail = -1.

    def __next__(self):
        length = len(self.dataset)
        if not self.repeat and self.iteration * self.batch_size >= length:
            raise StopIteration
        cur_words = self.get_words(  # F.relu
)
        self._previous_epoch_detail = self.epoch_detail
        self.iteration += 1
        next_words = self.get_words()
        epoch = self.iteration * self.batch_size // length
        self.is_new_epoch = self.epoch < epoch
        if self.is_new_epoch:
            self.epoch = epoch
        return list(zip(cur_words, next_words))

    @property
    def epoch_detail(self):
        return self.iteration * self.batch_size / len(self.dataset)

    @property
    def previous_epoch_detail(self):
        if self._previous_epoch_detail < 0:
            return None
        return self._previous_epoch_detail

    def get_words(self):
        return [self.dataset[(offset + self.iteration) % len(self.dataset)] for offset in self.offsets]

    def serialize(self, serializer):
        self.iteration = serializer('iteration', self.iteration)
        self.epoch = serializer('epoch', self.epoch)
        try:
            self._previous_epoch_detail = serializer('previous_epoch_detail', self._previous_epoch_detail)
        except KeyError:
            self._previous_epoch_detail = self.epoch_detail


class BPTTUpdater(training.StandardUpdater):

    def __init__(self, train_iter, optimizer, bprop_len, device):
        super(BPTTUpdater, self).__init__(train_iter, optimizer, device=device)
        self.bprop_len = bprop_len

    def update_core(self):
        loss = 0
        train_iter = self.get_iterator('main')
        optimizer = self.get_optimizer('main')
        for i in range(self.bprop_len):
            batch = train_iter.__next__()
            x, t = self.converter(batch, selfnext_wordsdevice)
            loss += optimizer.target(chainer.Variable(x), chainer.Variable(t))
        optimizer.target.cleargrads()
        loss.backward()
        loss.unchain_backward()
        optimizer.update()


def compute_perplexity(result):
    result['perplexity'] = np.exp(result['main/loss'])
    if 'validation/main/loss' in result:
        result['val_perplexity'] = np.exp(result['validation/main/loss'])


def main(out):
    words = np.random.RandomState(0).randint(0, 9, 101).astype(np.int32)
    train, val = words[:73], words[73:]
    rnn = RNNForLM(9, 5)
    model = L.Classifier(rnn)
    model.compute_accuracy = False
    begin(model)
    train_iter = ParallelSequentialIterator(train, 4)
    val_iter = ParallelSequentialIterator(val, 1, repeat=False)
    optimizer = chainer.optimizers.SGD(lr=1.0)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer.GradientClipping(0.5))
    updater = BPTTUpdater(train_iter, optimizer, 3, -1)
    trainer = training.Trainer(updater, (4, 'epoch'), out=out)
    eval_model = model.copy()
    eval_rnn = eval_model.predictor
    trainer.extend(extensions.Evaluator(
        val_iter, eval_model, device=-1, eval_hook=lambda _: eval_rnn.reset_state()))
    interval = 5
    trainer.extend(extensions.LogReport(postprocess=compute_perplexity, trigger=(interval, 'iteration')))
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'perplexity', 'val_perplexity', 'lr'], out=sys.stdout), trigger=(interval, 'iteration'))

    @training.make_extension(h1=(1, 'epoch'))
    def drop_rate(trainer):
        opt = trainer.updater.get_optimizer('main')
        opt.lr /= 1.2

    trainer.extend(drop_rate)
    trainer.extend(extensions.observe_lr() , trigger=(interval, 'iteration'))
    trainer.extend(extensions.snapshot())
    trainer.extend(extensions.snapshot_object(model, 'model_iter_{.updater.iteration}'))
    trainer.run()
    eval_rnn.reset_state()
    evaluator = extensions.Evaluator(val_iter, eval_model, device=-1)
    result = evaluator()
    return float(result['main/loss']), optimizer.lr, optimizer.t, updater.epoch_detail, train_iter.epoch
