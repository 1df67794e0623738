"""Persistent arrays: buffers that are registered where they are made, and take tensors alone."""

import numpy as np
import pytest
import torch

from tests.support.native_programs import HEAD, both, check

SOURCE = """
def first(*shape):
    return np.arange(1, np.prod(shape) + 1).reshape(shape).astype('f')


class Above(chainer.Chain):
    def __init__(self, n=3):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(n, n, initialW=first(n, n))
        self.u = first(1, n)
        self.v = np.ones((n,), dtype=np.float32)
        self.register_persistent('u')
        self.register_persistent('v')
        self.add_persistent('m', np.zeros((2, n), 'f'))
        self.add_persistent('k', 3)

    def step(self):
        u, w = self.u, self.l.W.data
        for _ in range(2):
            v = np.dot(u, w)
            u = np.dot(v, w.T) / 100
        self.u[:] = u
        self.v = np.squeeze(v)
        self.m += u

    def forward(self, x):
        self.step()
        return F.matmul(self.l(x), F.transpose(chainer.Variable(self.u))) + self.v.sum() + F.sum(self.m * 2)


class Net(Above):
    def reset(self):
        self.u = first(1, 3) * 2


def train(net):
    x, seen = chainer.Variable(np.ones((2, 3), 'f')), []
    for _ in range(2):
        seen += [net(x).array, net.u, net.v, net.m, net.k]
    net.reset()
    return [*seen, net(x).array, net.u, net.v, net.m]
"""


def test_buffers_compute_the_same():
    code = check(SOURCE)
    assert "self.register_buffer('u', torch.as_tensor(first(1, n)))" in code
    assert "self.register_buffer('m', torch.as_tensor(np.zeros((2, n), 'f')))" in code
    assert "self.u[:] = torch.as_tensor(u)" in code and "self.u = torch.as_tensor(first(1, 3) * 2)" in code
    assert "register_persistent" not in code and "compat.add_persistent(self, 'k', 3)" in code


def test_a_name_that_is_set_twice_or_read_in_between_is_registered_by_the_helper():
    _, _, code = both("""
        class Two(chainer.Chain):
            def __init__(self, n=None):
                super().__init__()
                self.u = np.zeros(3, 'f')
                if n is not None:
                    self.u = np.ones(n, 'f')
                self.register_persistent('u')
                self.v = np.zeros(3, 'f')
                self.w = self.v + 1
                self.register_persistent('v')
        """)
    assert "compat.register_persistent(self, 'u')" in code and "compat.register_persistent(self, 'v')" in code
    assert "self.u = torch.as_tensor(np.zeros(3, 'f'))" in code


STATISTICS = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(3)

    def forward(self, x):
        return self.bn(x)


def fill(layer, mean, var):
    layer.avg_mean = mean
    layer.avg_var = var.astype('f') * 2


def run(mean, var, x):
    net = Net()
    {fill}
    with chainer.using_config('train', False):
        return net(x).array
"""


@pytest.mark.parametrize(
    "fill",
    [
        "fill(net.bn, mean, var)",
        "net.bn.avg_mean = mean\n    net.bn.avg_var = var * 2",
        "bn = net.bn\n    bn.avg_mean = np.asarray(mean)\n    bn.avg_var = var + var",
        "for layer in net.children():\n        fill(layer, mean, var)",
    ],
)
def test_statistics_take_arrays(fill):
    """``bn.avg_mean = array`` of a layer that another library, or a file, has filled."""
    theirs, ours, code = both(STATISTICS.format(fill=fill), "".join(HEAD.splitlines(True)[:4]))
    mean, var, x = np.float32([1, 2, 3]), np.float32([1, 4, 9]), np.float32([[1, 0, 2], [5, 5, 5]])
    expected = theirs["run"](mean, var, x)
    found = ours["run"](mean, var, torch.as_tensor(x))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, err_msg=code)
