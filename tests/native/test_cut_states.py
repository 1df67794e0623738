"""`loss.unchain_backward()` where models keep their states in lists, tuples and dicts, or statistics of arrays."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L
from chainer import cuda

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)
        self.states = {empty}
        self.mean = 0

    def count(self, t):
        xp = cuda.get_array_module(t)
        self.mean = xp.mean(t, axis=0).reshape(1, -1)

    def forward(self, x):
        h = F.tanh(self.l(x) + self.{read})
        {store}
        return h

def run(xs):
    net = Net()
    net.l.W.array[...] = [[0.5, -0.25], [0.75, 1]]
    optimizer = chainer.optimizers.SGD(0.5)
    optimizer.setup(net)
    image = np.ndarray((1, 2), dtype=np.float32)
    found = []
    for i in range(6):
        image[0] = [i, 1 - i]
        loss = 0
        for x in xs:
            loss += F.sum(net(chainer.Variable(image)) ** 2)
        net.cleargrads()
        loss.backward()
        found.append(net.l.W.grad.copy())
        loss.unchain_backward()
        optimizer.update()
    return found
"""
_STATES = {
    "list": ("[0, 0]", "states[-1]", "self.states.append(h)"),
    "tuple": ("(0, 0)", "states[1]", "self.states = (self.states[1], h)"),
    "dict": ("{'h': 0}", "states['h']", "self.states['h'] = h"),
    "list in a dict": ("{'h': [0]}", "states['h'][-1]", "self.states['h'].append(h)"),
    "attribute": ("None", "mean", "self.mean = h"),
}


@pytest.mark.parametrize("kind", _STATES)
def test_states_forget_their_graph(kind):
    empty, read, store = _STATES[kind]
    theirs, ours, code = run(PROGRAM.format(empty=empty, read=read, store=store))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)
    assert "compat.detach_states(loss, net)" in code and "compat.live" not in code, code


FAKES = """
import chainer.links as L
from chainer import cuda

class Normed(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)

    def count(self, t):
        xp = cuda.get_array_module(t)
        self.mean = xp.mean(t, axis=0).reshape(1, -1)
        self.std = xp.sqrt(xp.var(t, axis=0))

    def forward(self, x):
        t = self.l(x)
        self.count(t.data)
        return (t - self.mean) / (self.std + 1)

class GAN(object):
    def __init__(self, net):
        self.net = net

    def generate(self, x):
        return self.net(x)

def run(xs):
    net, other = Normed(), Normed()
    for one in (net, other):
        one.l.W.array[...] = [[0.5, -0.25], [0.75, 1]]
    gan = GAN(net)
    fake = gan.generate(chainer.Variable(np.array([[1, 2], [3, 5]], 'f')))
    fake.unchain_backward()
    loss = F.sum(other(fake) ** 2)
    other.cleargrads()
    net.cleargrads()
    loss.backward()
    return other.l.W.grad, net.l.W.grad is None or not net.l.W.grad.any()
"""


def test_what_a_generator_made_is_detached():
    theirs, ours, code = run(FAKES)
    np.testing.assert_allclose(theirs[0], ours[0].numpy(), rtol=1e-4, atol=1e-6)
    assert bool(theirs[1]) is bool(ours[1]) is True
    assert "fake = fake.detach()" in code and "live" not in code, code


SUMS = """
import chainer.links as L

class Critic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)
            self.m = L.Linear(2, 2)
        for p in self.params():
            p.array[...] = 0.5

    def forward(self, x):
        return [self.l(x), self.m(x)]

def step(net, x):
    loss_real = 0
    for y in net(x):
        loss_real += F.mean_squared_error(y, np.ones_like(y.array))
    loss_fake = 0
    for y in net(x.array * 2):
        {test}loss_fake += F.mean_squared_error(y, np.zeros_like(y.array))
    loss = loss_fake + loss_real
    loss.backward()
    loss.unchain_backward()
    return loss, [loss_fake, loss_real]

def run(xs):
    net = Critic()
    net.cleargrads()
    loss, parts = step(net, chainer.Variable(np.array([[1, 2], [3, 5]], 'f')))
    grad = net.l.W.grad.copy()
    weight = chainer.Parameter(np.array(2, 'f'))
    (weight * (loss + parts[0] + parts[1])).backward()
    return loss.array, parts[0].array, parts[1].array, grad, net.l.W.grad, weight.grad
"""


def test_sums_of_a_loop_are_detached():
    theirs, ours, code = run(SUMS.format(test=""))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5)
    assert "loss_fake = loss_fake.detach()" in code and "loss = loss.detach()" in code and "live" not in code, code


def test_sums_that_may_stay_numbers_are_looked_at():
    theirs, ours, code = run(SUMS.format(test="if net is not None: "))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5)
    assert "loss_fake.detach()" not in code and "compat.live(loss_fake)" in code, code
