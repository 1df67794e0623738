"""Axes that a name holds: a tuple that is known not to be empty is one, wherever it stands."""

from tests.support.native_programs import check

TEXT = """
class Norm(chainer.Function):
    def forward(self, inputs):
        x, = inputs
        axis = (2, 3)
        mean, self.var = x.mean(axis=axis), x.var(axis=axis)
        return x - mean[:, :, None, None] * self.var[:, :, None, None],

    def backward(self, inputs, grads):
        return grads[0] * self.var[:, :, None, None],

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(2, 3, 1)

    def __call__(self, x):
        return F.sum(Norm()(self.conv(x)))

def train(net):
    loss = net(chainer.Variable(np.random.RandomState(0).rand(2, 2, 4, 4).astype('f')))
    net.cleargrads()
    loss.backward()
    return [float(loss.array), float(abs(net.conv.W.grad).sum())]
"""


def test_axes_under_a_name_are_those_of_the_tuple() -> None:
    code = check(TEXT)
    assert "x.mean(axis)" in code and "x.var(axis, correction=0)" in code
