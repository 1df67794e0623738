"""Options that an ``if`` gives in one of two ways, with the same keys: ``kwargs = {...}`` in both branches."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
from chainer import initializers

class Net(chainer.Chain):
    def __init__(self, zero):
        if zero:
            kwargs = FIRST
        else:
            kwargs = SECOND
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 3, **kwargs)
            self.b = L.Convolution2D(1, 2, 1, **kwargs)
        MORE

    def forward(self, x):
        return F.sum(self.b(F.reshape(self.a(x), (1, 1, 3, 1))))

def run(xs):
    found = []
    for zero in (True, False):
        net = Net(zero)
        found.append([(name, p.array.tolist()) for name, p in sorted(net.namedparams())])
        found.append(float(net(xs[0]).array))
    return found
"""
ZERO, FULL = (
    "{'initialW': initializers.Zero(), 'nobias': True}",
    "{'initialW': initializers.Constant(0.5), 'nobias': True}",
)


def program(first=ZERO, second=FULL, more="pass"):
    return PROGRAM.replace("FIRST", first).replace("SECOND", second).replace("MORE", more)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ZERO, FULL),
        ("dict(nobias=True, initialW=initializers.One())", FULL),
        (
            ZERO.replace("'nobias': True", "'initial_bias': initializers.One()"),
            FULL.replace("'nobias': True", "'initial_bias': initializers.Zero()"),
        ),
        (ZERO, FULL.replace("initializers.Constant(0.5)", "float('0.5')")),
    ],
)
def test_layers_of_both_branches(first, second):
    theirs, ours, code = run(program(first, second))
    assert "nn.Linear(2, 3" in code and "compat.LinearLink" not in code and "compat.Convolution2D" not in code
    for one, other in zip(theirs, ours):
        assert one == other or np.allclose(one, other)


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        (ZERO, "{'initialW': initializers.One()}", "pass"),
        (ZERO, FULL.replace("True", "False"), "pass"),
        (ZERO, FULL, "kwargs['initialW'] = None"),
        (ZERO, FULL, "kwargs.update(nobias=False)"),
        (ZERO, "eval('{}')", "pass"),
        (ZERO, FULL, "kwargs = {}"),
    ],
)
def test_options_that_are_not_known_keep_the_helper(first, second, more):
    assert "compat.LinearLink(2, 3, **kwargs)" in migrated(program(first, second, more)).code
