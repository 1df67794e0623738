"""Constructors that are called by the name of a class: ``chainer.Chain.__init__(self, l1=...)``."""

import pytest

from tests.support import native_programs

BASE = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import Chain, optimizers


class Base(chainer.Chain):
    def __init__(self, n):
        super(Base, self).__init__(first=L.Linear(3, n), second=L.Linear(n, 2))
        self.kind = 1

    def __call__(self, x):
        return self.second(F.relu(self.first(x)))

"""

CALLS = {
    "with its links": "chainer.Chain.__init__(self,\n            first=L.Linear(3, 5),  # wider\n"
    "            second=L.Linear(5, 4),\n        )",
    "by another name": "Chain.__init__(self, first=L.Linear(3, 5), second=L.Linear(5, 4))",
    "without": "chainer.Chain.__init__(self)\n        with self.init_scope():\n"
    "            self.first = L.Linear(3, 5)\n            self.second = L.Linear(5, 4)",
    "behind the base": "super(Base, self).__init__(first=L.Linear(3, 5), second=L.Linear(5, 4))",
}

TRAIN = """
class Net(Base):
    def __init__(self):
        CALL
        self.kind = 2


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    found = [model.kind]
    for i in range(3):
        x = np.arange(6, dtype='f').reshape(2, 3) / 5 + i
        model.cleargrads()
        loss = F.sum(model(x) ** 2)
        loss.backward()
        optimizer.update()
        found.append(float(loss.array))
    return found
"""


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_constructor_of_chain_past_that_of_the_base(call):
    code = native_programs.check(TRAIN.replace("CALL", call), head=BASE)
    assert "TODO" not in code and "chainer." not in code.replace("# chainer", "")


SHAPES = """
class Held(chainer.Link):
    def __init__(self):
        super().__init__(W=(2, 3))


class Net(Held):
    def __init__(self):
        chainer.Link.__init__(self, V=(2, 3), U=3)
        self.V.data[...] = np.arange(6).reshape(2, 3)
        self.U.data[...] = 1

    def __call__(self, x):
        return F.linear(x, self.V) * F.sum(self.U)


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    x = np.arange(6, dtype='f').reshape(2, 3) / 50
    model.cleargrads()
    loss = F.sum(model(x) ** 2)
    loss.backward()
    optimizer.update()
    return [float(loss.array), len(list(model.params()))]
"""


def test_the_constructor_of_link_past_that_of_the_base():
    code = native_programs.check(SHAPES, head=BASE)
    assert "nn.Module.__init__(self)" in code.split("class Net")[1] and "TODO" not in code
