"""A translator: sequences of different lengths

`L.NStepLSTM` takes and gives lists of sequences of different lengths; a short helper does that over `nn.LSTM`. The label -1, which Chainer leaves out of the loss, is
`ignore_index`. Arrays of words become tensors where the model is called. The hook that clips gradients is a line before `optimizer.step()`.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

EOS = 1


class Seq2seq(chainer.Chain):

    def __init__(self, n_layers, n_source, n_target, n_units):
        super().__init__()
        with self.init_scope():
            self.embed_x = L.EmbedID(n_source, n_units)
            self.embed_y = L.EmbedID(n_target, n_units)
            self.encoder = L.NStepLSTM(n_layers, n_units, n_units, 0.1)
            self.decoder = L.NStepLSTM(n_layers, n_units, n_units, 0.1)
            self.out = L.Linear(n_units, n_target)

    def forward(self, xs, ys):
        xs = [x[::-1] for x in xs]
        eos = np.array([EOS], np.int32)
        ys_in = [F.concat([eos, y], axis=0) for y in ys]
        ys_out = [F.concat([y, eos], axis=0) for y in ys]
        hx, cx, _ = self.encoder(None, None, embed(self.embed_x, xs))
        _, _, os = self.decoder(hx, cx, embed(self.embed_y, ys_in))
        return F.softmax_cross_entropy(self.out(F.concat(os, axis=0)), F.concat(ys_out, axis=0))


def embed(layer, xs):
    lengths = [len(x) for x in xs]
    sections = np.cumsum(lengths[:-1])
    return F.split_axis(layer(F.concat(xs, axis=0)), sections, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=2)
    args = parser.parse_args()

    rng = np.random.RandomState(0)
    pairs = []
    for _ in range(12):
        words = rng.randint(2, 9, rng.randint(2, 5)).astype(np.int32)
        pairs.append((words, words[::-1].copy()))
    model = Seq2seq(1, 9, 9, 8)
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(5))
    for epoch in range(args.epoch):
        for start in range(0, len(pairs), 4):
            xs, ys = zip(*pairs[start:start + 4])
            loss = model(list(xs), list(ys))
            model.cleargrads()
            loss.backward()
            optimizer.update()
        print('epoch', epoch, 'loss', float(loss.array))


if __name__ == '__main__':
    main()
