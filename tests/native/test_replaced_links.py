"""A link that takes the place of another one outside of ``init_scope``: Chainer finds children by their names,
so the new one is trained. A name under which nothing is registered stays the object's own.
"""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L

class Wide(chainer.Chain):
    def __init__(self, **links):
        super().__init__(**links)

class Named(chainer.Chain):
    def __init__(self, names):
        super().__init__()
        for name in names:
            self.add_link(name, L.Linear(2, 2))

class Scoped(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(2, 2)

class Set(chainer.Chain):
    def __init__(self, names):
        super().__init__()
        with self.init_scope():
            for name in names:
                setattr(self, name, L.Linear(2, 2))

def made(value):
    layer = L.Linear(2, 2, nobias=True)
    layer.W.array[...] = value
    return layer

def run(xs):
    net = MADE
    net.first = made(0.5)
    net.second = made(0.25)
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(net)
    x = np.arange(4).astype('f').reshape(2, 2)
    loss = F.sum(net.second(net.first(chainer.Variable(x))) ** 2)
    net.cleargrads()
    loss.backward()
    optimizer.update()
    return net.first.W.array, net.second.W.array
"""


@pytest.mark.parametrize(
    "made",
    [
        "chainer.Chain(first=L.Linear(2, 2))",
        "Wide(first=L.Linear(2, 2))",
        "Wide(**{'first': L.Linear(2, 2)})",
        "Named(['first'])",
        "Set(['first'])",
        "Scoped()",
    ],
)
def test_the_link_that_took_the_place_is_trained(made: str) -> None:
    theirs, ours, code = run(PROGRAM.replace("MADE", made))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-5, err_msg=code)
