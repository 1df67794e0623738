"""`xp = get_array_module(t)` where `t` is a number if nothing is computed with it, and in properties of links."""

import numpy as np

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
from chainer import cuda

def penalty(t):
    xp = cuda.get_array_module(t)
    n, k, _ = t.shape
    return F.sum((F.matmul(t, F.transpose(t, (0, 2, 1))) - xp.identity(k, dtype=xp.float32)) ** 2) / n

def norm_of(w):
    xp = cuda.get_array_module(w)
    return xp.sqrt(xp.sum(w ** 2, axis=1))

class Net(chainer.Chain):
    def __init__(self, moved):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 4)
        self.moved = moved

    @property
    def scale(self):
        w = self.l.W.data
        return w / norm_of(w).reshape(-1, 1)

    def calc(self, x):
        h = self.l(x)
        if self.moved:
            t = F.reshape(h, (-1, 2, 2))
        else:
            t = 0  # nothing
        return h, t

    def forward(self, x):
        h, t = self.calc(x)
        loss = F.sum(h * F.linear(x, self.scale))
        if self.moved:
            loss = loss + penalty(t)
        return loss

def run(xs):
    nets = Net(True), Net(False)
    for net in nets:
        net.l.W.array[...] = np.arange(8).reshape(4, 2) + 1
    return [net(chainer.Variable(xs[0])).array for net in nets] + [nets[0].scale]
"""


def test_the_device_of_what_computes():
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-5)
    assert "torch.eye(k, dtype=torch.float32, device=t.device)" in code, code
    assert "torch.sqrt(torch.sum(w ** 2, dim=1))" in code and "array_module" not in code, code


def test_the_number_of_the_gpu_that_an_array_is_on() -> None:
    """CuPy's device has an ``id``, a torch.device none: it raised."""
    code = migrated("""

def f(x):
    y = F.relu(chainer.Variable(x)).array
    device = y.device
    with chainer.cuda.get_device_from_id(device.id):
        return y.device.id, chainer.cuda.get_device_from_id(y.device.id)
""").code
    assert ".device.id" not in code and "device.id" not in code, code
    assert "compat.device_number(y.device)" in code and "compat.device_number(device)" in code
