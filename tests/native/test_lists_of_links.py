"""Lists of links of the program's own classes: what Chainer's list gives for a slice, and its methods."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


class Stage(chainer.ChainList):
    def __init__(self, n, scale):
        super().__init__(*[L.Scale(1, (2,)) for _ in range(n)])
        self.scale = scale
        for i, link in enumerate(self):
            link.W.array[...] = [i + 1, scale]

    def forward(self, x):
        return Halves(self)(x)


class Halves(chainer.Function):
    def __init__(self, stage):
        self.stage = stage

    def forward(self, inputs):
        self.retain_outputs((0,))
        with chainer.no_backprop_mode():
            y = chainer.Variable(inputs[0])
            for link in self.stage:
                y = F.tanh(link(y))
        return y.array,

    def backward(self, inputs, grad_outputs):
        y, = self.output_data
        g = grad_outputs[0].copy()
        for link in self.stage[::-1]:
            g = g * (1 - y * y) * link.W.array
        return g,


def run(xs):
    stage = Stage(3, 0.5)
    x = chainer.Variable(xs[0])
    F.sum(stage(x)).backward()
    values = [float(v) for v in x.grad[0]]
    MORE
    return values + [float(link.W.array[0]) for link in stage]
"""


MORE = [
    "values.append(float(stage[-2:][0].W.array[0]))",
    "values.append(stage.index(stage[1]))",
    "values.append(stage.count(stage[1]))",
    "stage.remove(stage[1])",
    "stage.reverse()",
    "stage.pop(0)",
    "stage.clear()",
    "values.append(isinstance(stage, chainer.ChainList))",
    "values += [isinstance(x, (chainer.Sequential, chainer.ChainList)) for x in (stage, stage[0])]",
]


@pytest.mark.parametrize("more", MORE)
def test_slices_and_methods(more):
    theirs, ours, _ = run(PROGRAM.replace("MORE", more))
    assert np.allclose(theirs, ours, rtol=1e-5)


STACK = """
import chainer.links as L


class Block(chainer.Chain):
    def __init__(self, scale):
        super().__init__()
        with self.init_scope():
            self.scale = L.Scale(1, (2,))
        self.scale.W.array[...] = scale

    def forward(self, x):
        y = F.tanh(self.scale(x))
        return x + y, y


class Stack(chainer.ChainList):
    def __init__(self):
        super().__init__()
        for i in range(3):
            self.add_link(Block(i + 1))

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.children()):
            x, skip = block(x)
            skips.append(skip)
            if i == 0:
                total = skip
            else:
                total += skip
        return total * skips[0]


def run(xs):
    x = chainer.Variable(xs[0])
    y = F.sum(Stack()(x))
    y.backward()
    return [float(y.array)] + [float(v) for v in x.grad[0]]
"""


def test_the_children_of_a_list_are_what_was_put_into_it():
    """So what they give is known, and a sum of that is bound anew: in place it would change the first of its parts."""
    theirs, ours, code = run(STACK)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert "total = total + skip" in code and "compat.iadd" not in code
