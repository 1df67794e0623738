"""Persistent arrays: buffers that are registered where they are made, and take tensors alone."""

from tests.support.native_programs import both, check

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
