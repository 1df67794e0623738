"""A decoder with a loss for each step over padded sequences, on a base class whose constructor is passed over."""
import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L


def begin(model):
    pass


class Base(chainer.Chain):
    def __init__(self):
        raise NotImplementedError

    def start(self, n):
        return chainer.Variable(self.xp.zeros((n, 6), 'f'))


class Decoder(Base):
    def __init__(self, n_words):
        super(Base, self).__init__(
            embed=L.EmbedID(n_words, 5, ignore_label=-1),
            step=L.Linear(11, 6),
            out=L.Linear(6, n_words))
        self.n_words = n_words

    def __call__(self, word, h):
        h = F.tanh(self.step(F.concat((self.embed(word), h))))
        return self.out(h), h


def padded(rows, length):
    return np.array([row + [-1] * (length - len(row)) for row in rows], dtype=np.int32)


def main(out):
    rng = np.random.RandomState(0)
    model = Decoder(7)
    begin(model)
    optimizer = chainer.optimizers.SGD(lr=0.1)
    optimizer.setup(model)
    said = []
    for epoch in range(3):
        rows = [[int(w) for w in rng.randint(0, 7, rng.randint(2, 5))] for _ in range(4)]
        words = padded(rows, 7)
        h = model.start(len(rows))
        loss = 0
        each = []
        for before, after in zip(words.T, words.T[1:]):
            y, h = model(before, h)
            step = F.softmax_cross_entropy(y, after)
            each.append(float(step.data))
            loss += step
        model.cleargrads()
        loss.backward()
        optimizer.update()
        print('epoch', epoch, 'steps', len(each))
        said.append([float(loss.data)] + each)
        with chainer.no_backprop_mode():
            ys = [model(w, h)[0] for w in words.T]
            total = sum(F.softmax_cross_entropy(y, t) for y, t in zip(ys, words.T))
        said.append(float(total.data))
    return said + [model.out.W.data.sum(), model.embed.W.data.sum()]
