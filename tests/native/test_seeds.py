"""A gradient that a result is given before its ``backward()``: the way back starts with it, whatever is known."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def start(y, g):
    {statement}
    y.backward()


def run(xs):
    x = chainer.Variable(xs[0])
    y = F.sum(x * x)
    {call}
    return x.grad
"""


@pytest.mark.parametrize("call", ["start(y, np.array(2.5, 'f'))", "{'a': start}.get('a')(y, np.array(2.5, 'f'))"])
def test_values(call):
    theirs, ours, _ = run(PROGRAM.format(statement="y.grad = g", call=call))
    np.testing.assert_array_equal(ours.numpy(), theirs)


def test_several_ways_back_and_none():
    text = "def f(y, g):\n    y.grad = g\n    y.backward()\n    y.backward()\n"
    code = migrated(text).code
    assert code.count("compat.set_grad(y, g)") == 1 and code.count("compat.backward(y") == 2
    assert "y.backward()" in migrated("def f(y):\n    y.grad = None\n    y.backward()\n").code
