"""Links whose children or attributes are called as a module needs it for itself: ``forward``, ``type``."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L

class Inner(chainer.Chain):
    def __init__(self):
        super(Inner, self).__init__()
        with self.init_scope():
            self.forward = L.Linear(2, 2)

    def __call__(self, x):
        return self.forward(x)

class Net(chainer.Chain):
    def __init__(self):
        CONSTRUCTOR
        self.add_link('inner', Inner())

    def __call__(self, x):
        return self.forward(x) + self.inner(x) + self.inner.forward(x)

def run(xs):
    net = Net()
    for p in net.params():
        p.array[...] = 0.5
    ITEM
    return net(xs[0]).array
"""
MADE = {
    "keywords": "super(Net, self).__init__(forward=L.Linear(2, 2), type=L.Linear(2, 2))",
    "scope": "super(Net, self).__init__()\n        with self.init_scope():\n            self.forward = L.Linear(2, 2)",
    "add_link": "super(Net, self).__init__()\n        self.add_link('forward', L.Linear(2, 2))",
    "function": "super(Net, self).__init__()\n        self.forward = F.relu",
}


@pytest.mark.parametrize("made", sorted(MADE))
def test_the_child_gets_another_name(made):
    theirs, ours, code = run(PROGRAM.replace("CONSTRUCTOR", MADE[made]).replace("ITEM", "pass"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert "self.inner.forward_(" in code, code
    assert "also in files of weights" in code, code


def test_a_child_that_is_asked_for_by_name_is_that_one():
    text = PROGRAM.replace("CONSTRUCTOR", MADE["keywords"]).replace("ITEM", "assert net['forward'] is net.forward")
    theirs, ours, code = run(text)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert "getattr(net, 'forward_') is net.forward_" in code, code


METHOD = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l=L.Linear(2, 2))
        self.l.W.array[...] = 0.5

    def forward(self, x):
        return self.l(x)

    def __call__(self, x):
        return F.sum(self.forward(x))

def run(xs):
    return Net()(xs[0]).array
"""


def test_a_method_of_this_name_keeps_it():
    theirs, ours, code = run(METHOD)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert "forward_" not in code, code
