"""A model that only a branch makes is not named where a mode is set: the name may have no value there."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_snippets import run

NET = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2, initialW=0.5)

    def __call__(self, x):
        return F.dropout(self.l(x), 0.9)


"""
WITH = """
def f(more, x):
    net = Net()
    if more:
        other = Net()
    with chainer.using_config('train', False):
        y = net(x)
        if more:
            y = y + other(x)
    return y


def run(xs):
    return [f(more, xs[0]) for more in (False, True)]
"""
FOR_GOOD = """
def f(more, x):
    net = Net()
    if more:
        other = Net()

    def evaluate():
        chainer.config.train = False
        y = net(x)
        if more:
            y = y + other(x)
        chainer.config.train = True
        return y

    return evaluate()


def run(xs):
    return [f(more, xs[0]) for more in (False, True)]
"""


@pytest.mark.parametrize("program", (WITH, FOR_GOOD), ids=("with", "for good"))
def test_a_model_of_one_branch_is_switched_when_it_is_called(program):
    theirs, ours, code = run(NET + program)
    assert "other)" not in code.replace("other(x)", ""), code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected.array, rtol=1e-6)


BODY = """
def f(kind, x, names):
    {made}
    with chainer.using_config('train', False):
        if x is not None:
            return net(x)
"""
SURE = {
    "both branches": "if kind:\n        net = Net()\n    else:\n        net = Net()",
    "a branch that leaves": "if kind:\n        net = Net()\n    else:\n        raise ValueError(kind)",
    "one that ends the program": "import sys\n    if kind:\n        net = Net()\n    else:\n        sys.exit()",
    "read before": "if kind:\n        net = Net()\n    elif x:\n        net = Net()\n    net.cleargrads()",
    "try": "try:\n        net = Net()\n    except IOError:\n        raise",
    "with": "with open(kind) as file:\n        net = Net()",
}
UNSURE = {
    "one branch": "if kind:\n        net = Net()",
    "a loop": "for name in names:\n        net = Net()",
    "a handler": "try:\n        net = Net()\n    except IOError:\n        pass",
    "read in another branch": "if kind:\n        net = Net()\n    if kind:\n        net.cleargrads()",
    "read in a lambda": "if kind:\n        net = Net()\n    later = lambda: net.cleargrads()",
}


@pytest.mark.parametrize("style", ("native", "faithful"))
@pytest.mark.parametrize("name", (*SURE, *UNSURE))
def test_names_that_have_their_values_stay(name, style):
    text = "import chainer\nimport chainer.functions as F\n" + NET
    made = SURE.get(name) or UNSURE[name]
    code = migrate_source(text + BODY.format(made=made), options=Options(style=style)).code
    named = any(text in code for text in ("net.eval()", "_mode(net", "evaluating(net"))
    assert named == (name in SURE), code
