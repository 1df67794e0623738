"""Arrays of the host that run backwards: PyTorch makes a tensor of none, so they are copied wherever one is made."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
def order(values):
    return np.argsort(values)[::-1]

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.w = chainer.Parameter(1.0, (3,))

    def forward(self, x):
        xp = self.xp
        o = order([3, 1, 2])
        return {made}

def run(xs):
    y = Net()(chainer.Variable(xs[0]))
    return y.array if isinstance(y, chainer.Variable) else y
"""
FORMS = [
    "xp.asarray(o)",
    "xp.array(o)",
    "xp.asarray(o, dtype=xp.int32)",
    "xp.asarray(o, 'f')",
    "xp.ascontiguousarray(o)",
    "self.xp.asarray(np.arange(3)[::-1], 'f')",
    "chainer.Variable(xp.asarray(o))",
    "chainer.Variable(np.arange(3, dtype='f')[::-1])",
    "chainer.Variable(np.asarray(np.arange(3, dtype='f')[::-1]))",
    "chainer.as_variable(o)",
    "chainer.dataset.to_device(-1, o)",
    "self.w[xp.asarray(o)]",
    "xp.concatenate([xp.asarray(o), xp.asarray(o)])",
]


@pytest.mark.parametrize("made", FORMS)
def test_what_runs_backwards_is_copied(made):
    theirs, ours, code = run(PROGRAM.format(made=made))
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    assert ".copy()" in code


@pytest.mark.parametrize("made", FORMS)
def test_what_runs_forwards_is_not(made):
    theirs, ours, code = run(PROGRAM.replace("[::-1]", "[::1]").format(made=made.replace("[::-1]", "")))
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    assert ".copy()" not in code
