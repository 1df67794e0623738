"""The array module of inputs that ``forward`` of a Function does not keep: ``backward`` gets None for them."""

import pytest

from tests.support import native_programs

SOURCE = """
from chainer import cuda, function


class Masked(function.Function):
    def __init__(self, k):
        self.k = k

    def forward(self, inputs):
        KEEP
        x, w = inputs
        return x * 2, x + w

    def backward(self, inputs, grads):
        xp = cuda.get_array_module(MODULE)
        order = np.argsort(cuda.to_cpu(-xp.absolute(grads[0])), axis=1)[:, :self.k]
        mask = np.zeros(grads[0].shape, dtype=np.float32)
        for row, chosen in zip(mask, order):
            row[chosen] = 1
        if xp != np:
            mask = cuda.to_gpu(mask)
        return grads[0] * mask * 2 + grads[1], grads[1] + xp.ones_like(grads[1])


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    x = np.arange(12, dtype='f').reshape(4, 3) / 5
    found = []
    for i in range(3):
        model.cleargrads()
        h = model.l1(x)
        a, b = Masked(2)(h, F.tanh(h))
        loss = F.sum(model.l2(a) ** 2) + F.sum(b ** 2)
        loss.backward()
        optimizer.update()
        found.append(float(loss.array))
    return found
"""


@pytest.mark.parametrize(
    ("keep", "module", "device"),
    [
        ("self.retain_inputs(())", "*inputs", "grads[0].device"),
        ("self.retain_inputs([])", "inputs[0]", "grads[0].device"),
        ("self.retain_inputs((1,))", "*inputs", "grads[0].device"),
        ("self.retain_inputs((1,))", "inputs[1]", "inputs[1].device"),
        ("self.retain_inputs((0, 1))", "*inputs", "inputs[0].device"),
        ("self.retain_inputs(tuple(range(len(inputs))))", "*inputs", "inputs[0].device"),
        ("pass", "*inputs", "inputs[0].device"),
    ],
)
def test_a_tensor_that_is_there_says_where(keep, module, device):
    code = native_programs.check(SOURCE.replace("KEEP", keep).replace("MODULE", module))
    other = {"grads[0].device", "inputs[0].device", "inputs[1].device"} - {device}
    assert device in code and not any(text in code for text in other)
