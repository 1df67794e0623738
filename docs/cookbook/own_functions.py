"""Functions, layers and hooks of your own

A layer with a `chainer.Parameter` is a module with an `nn.Parameter`. A `FunctionNode` keeps its two methods over a base class in the helpers, which makes a
`torch.autograd.Function` of them; what it computes becomes PyTorch. A hook of the optimizer stays the object that it was.
"""
import argparse

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Sign(chainer.FunctionNode):
    """The sign, with the gradient of a clipped identity."""

    def forward(self, inputs):
        x, = inputs
        self.retain_inputs((0,))
        xp = chainer.backend.get_array_module(x)
        return xp.where(x >= 0, 1, -1).astype(x.dtype),

    def backward(self, indexes, grad_outputs):
        x, = self.get_retained_inputs()
        gy, = grad_outputs
        return gy * F.cast(abs(x.array) < 1, gy.dtype),


def sign(x):
    return Sign().apply((x,))[0]


class Scale(chainer.Link):

    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.gamma = chainer.Parameter(1.0, (n,))

    def forward(self, x):
        return x * F.broadcast_to(self.gamma, x.shape)


class Net(chainer.Chain):

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(4, 8)
            self.scale = Scale(8)
            self.l2 = L.Linear(8, 2)

    def forward(self, x):
        return self.l2(self.scale(sign(self.l1(x))))


class HalveGradients(object):
    name = 'halve'
    call_for_each_param = True

    def __call__(self, rule, param):
        if param.grad is not None:
            param.grad *= 0.5


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--steps', type=int, default=6)
    args = parser.parse_args()

    rng = np.random.RandomState(0)
    x = rng.normal(size=(8, 4)).astype(np.float32)
    t = (x.sum(axis=1) > 0).astype(np.int32)
    model = L.Classifier(Net())
    optimizer = chainer.optimizers.SGD(lr=0.1)
    optimizer.setup(model)
    optimizer.add_hook(HalveGradients())
    for _ in range(args.steps):
        optimizer.update(model, x, t)
    print('loss', float(model.loss.array))


if __name__ == '__main__':
    main()
