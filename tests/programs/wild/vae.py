"""A loss function object handed to update(), reports of a model that is not the target, early stopping by hand."""
import chainer
import chainer.functions as F
from chainer.functions.loss.vae import gaussian_kl_divergence
import chainer.links as L
import numpy as np
import six


def begin(model):
    pass


class VAE(chainer.Chain):
    """Variational AutoEncoder"""

    def __init__(self, n_in, n_latent, n_h):
        super(VAE, self).__init__()
        with self.init_scope():
            self.le1 = L.Linear(n_in, n_h)
            self.le2_mu = L.Linear(n_h, n_latent)
            self.le2_ln_var = L.Linear(n_h, n_latent)
            self.ld1 = L.Linear(n_latent, n_h)
            self.ld2 = L.Linear(n_h, n_in)

    def __call__(self, x, sigmoid=True):
        return self.decode(self.encode(x)[0], sigmoid)

    def encode(self, x):
        h1 = F.tanh(self.le1(x))
        return self.le2_mu(h1), self.le2_ln_var(h1)

    def decode(self, z, sigmoid=True):
        h1 = F.tanh(self.ld1(z))
        h2 = self.ld2(h1)
        if sigmoid:
            return F.sigmoid(h2)
        return h2

    def get_loss_func(self, C=1.0, k=1):
        def lf(x):
            mu, ln_var = self.encode(x)
            batchsize = len(mu.data)
            rec_loss = 0
            for l in six.moves.range(k):
                z = mu
                rec_loss += F.bernoulli_nll(x, self.decode(z, sigmoid=False)) / (k * batchsize)
            self.rec_loss = rec_loss
            self.loss = self.rec_loss + C * gaussian_kl_divergence(mu, ln_var) / batchsize
            chainer.report({'rec_loss': rec_loss, 'loss': self.loss}, observer=self)
            return self.loss
        return lf


def main(out):
    rng = np.random.RandomState(8)
    data = rng.rand(30, 9).astype(np.float32)
    train, valid = data[:22], data[22:]
    model = VAE(9, 2, 6)
    begin(model)
    optimizer = chainer.optimizers.SMORMS3(lr=0.01)
    optimizer.setup(model)
    loss_func = model.get_loss_func(C=0.5, k=2)
    best, patience, waited = float('inf'), 2, 0
    history = {'train': [], 'valid': []}
    kept = []
    for epoch in range(12):
        indexes = np.random.permutation(len(train))
        losses = []
        for start in six.moves.range(0, len(train), 6):
            x = train[indexes[start:start + 6]]
            optimizer.update(loss_func, x)
            losses.append(model.loss)
            kept.append(model.loss.data)
        history['train'].append(np.mean([float(l.data) for l in losses]))
        with chainer.using_config('enable_backprop', False):
            with chainer.using_config('train', False):
                valid_loss = loss_func(chainer.Variable(valid)).data
        history['valid'].append(valid_loss)
        if valid_loss < best - 0.01:
            best, waited = float(valid_loss), 0
            chainer.serializers.save_npz(out + '/best.npz', model)
        else:
            waited += 1
            if waited > patience:
                break
    chainer.serializers.load_npz(out + '/best.npz', model)
    total = sum(kept)
    return history['train'], [float(v) for v in history['valid']], epoch, float(total), model(valid).data
