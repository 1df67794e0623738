"""Old-style functions that write into their inputs and gradients: as in Chainer, under PyTorch's checks."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import own_functions


def _classes(base):
    class Put(base):
        """Writes into its first input and returns it."""

        def forward(self, inputs):
            stack, values = inputs
            stack[1] = values
            return (stack,)

        def backward(self, inputs, grads):
            g = grads[0]
            gv = g[1] + 0
            g[1] = 0
            return g, gv

    class Get(base):
        """Returns a part and its whole input."""

        def forward(self, inputs):
            (stack,) = inputs
            return stack[1] * 2, stack

        def backward(self, inputs, grads):
            (stack,) = inputs
            g, gs = grads
            if gs is None:
                gs = stack * 0
            if g is not None:
                gs[1] += 2 * g
            return (gs,)

    return Put, Get


def _run(base, variable, total, x, v):
    put, get = _classes(base)
    x, v = variable(x), variable(v)
    stack = put()(x * 1, v)
    a, stack = get()(stack)
    stack = put()(stack, a * 3)
    b, stack = get()(stack)
    loss = total(b * b) + total(stack * stack)
    loss.backward()
    return loss, x.grad, v.grad


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_stack_that_is_changed_in_place(dtype):
    rng = np.random.RandomState(0)
    x, v = rng.randn(3, 4).astype(dtype), rng.randn(4).astype(dtype)
    expected = _run(chainer.Function, lambda a: chainer.Variable(a.copy()), F.sum, x, v)
    actual = _run(own_functions.Function, lambda a: torch.tensor(a, requires_grad=True), torch.sum, x, v)
    assert actual[0].item() == pytest.approx(float(expected[0].array), rel=1e-6)
    for e, a in zip(expected[1:], actual[1:], strict=True):
        np.testing.assert_allclose(a.numpy(), e, rtol=1e-6)


def test_a_gradient_that_others_get_too_is_not_changed():
    class Clear(own_functions.Function):
        def forward(self, inputs):
            return (inputs[0] * 1,)

        def backward(self, inputs, grads):
            grads[0][...] = 0
            return (grads[0],)

    x, y = (torch.ones(3, requires_grad=True) for _ in range(2))
    (Clear()(x) + y).sum().backward()
    assert x.grad.tolist() == [0] * 3 and y.grad.tolist() == [1] * 3


def test_an_input_that_is_returned():
    class Same(own_functions.Function):
        def forward(self, inputs):
            return inputs

        def backward(self, inputs, grads):
            return (grads[0] * inputs[0],)

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = Same()(x)
    y.sum().backward()
    assert y.tolist() == [2, 3] and x.grad.tolist() == [2, 3] and y.data_ptr() == x.data_ptr()
