"""An array module that is CuPy where it can be imported, and NumPy where it cannot."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import optimizers

try:
    import cupy as xp
except ImportError:
    import numpy as xp


def has_gpu():
    try:
        import cupy  # noqa: F401

        found = True
    except ImportError:
        found = False
    return found


def attend(queries, keys, values, scale=1.0, mask=None):
    scores = F.matmul(queries, keys, transb=True) * xp.array(scale, dtype=keys.dtype)
    if mask is not None:
        scores = F.where(mask, scores, xp.ones_like(scores.array) * xp.array(-1e9, dtype=xp.float32))
    return F.matmul(F.softmax(scores, axis=-1), values)


def positions(length, size):
    steps = xp.arange(length).reshape(-1, 1).astype(xp.float32)
    return xp.sin(steps / xp.arange(1, size + 1).astype(xp.float32))


class Attention(chainer.Chain):
    def __init__(self, size):
        super().__init__()
        with self.init_scope():
            self.query = L.Linear(size, size)
            self.key = L.Linear(size, size)

    def forward(self, x):
        length = x.shape[1]
        x = x + xp.broadcast_to(positions(length, x.shape[2]), x.shape)
        mask = xp.tril(xp.ones((length, length), dtype=bool))
        q = self.query(x, n_batch_axes=2)
        k = self.key(x, n_batch_axes=2)
        return attend(q, k, x, 0.5, xp.broadcast_to(mask, (len(x), length, length)))


def main(out):
    rng = np.random.RandomState(0)
    model = Attention(4)
    begin(model)
    optimizer = optimizers.SGD(0.1).setup(model)
    losses = []
    for _ in range(4):
        x = rng.rand(3, 5, 4).astype(np.float32)
        model.cleargrads()
        loss = F.sum(model(xp.asarray(x)) ** 2)
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    print(["%.4f" % loss for loss in losses], positions(2, 2).shape)
    return {"losses": losses, "gpu": has_gpu()}
