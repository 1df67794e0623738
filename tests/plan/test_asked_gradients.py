"""A Variable of which the gradient is asked requires it, whatever names it has on its way: both frameworks run."""

import numpy as np
import pytest

from tests.support.native_programs import both

PROGRAM = """
import chainer
import chainer.functions as F
import numpy as np


def rest(*variables):
    return [v.grad for v in variables]


def asked(loss, wrt):
    return [g.array for g in chainer.grad([loss], wrt)]


def one(v):
    F.sum(v * v).backward()
    return v.grad


def made(k):
    return chainer.Variable(np.arange(3, dtype="f") + k)


def run():
    BODY
"""
BODIES = [
    "x, y = made(1), made(2)\n    F.sum(x * y).backward()\n    return rest(x, y)",
    "x = chainer.Variable(np.ones(3, 'f'))\n    return asked(F.sum(x ** 2), [x])",
    "a, b = (chainer.Variable(np.ones(3, 'f') + k) for k in range(2))\n    return asked(F.sum(a * b), [a, b])",
    "x = chainer.Variable(np.ones(3, 'f'))\n    same = x\n    F.sum(x * 3).backward()\n    return [same.grad]",
    "x = chainer.Variable(np.ones(3, 'f'))\n    F.sum(x * 3).backward()\n    return [v.grad for v in (x,)]",
    "xs = []\n    xs.append(chainer.Variable(np.ones(3, 'f')))\n    F.sum(xs[0] * 3).backward()\n"
    "    return [xs[0].grad]",
    "return [one(chainer.Variable(np.ones(3, 'f')))]",
    "xs = {'a': chainer.Variable(np.ones(3, 'f'))}\n    F.sum(xs['a'] * 2).backward()\n"
    "    return [v.grad for k, v in xs.items()]",
    # of a value in the middle: what it is made of needs no gradient that anybody reads, but the graph does
    "x = chainer.Variable(np.ones(3, 'f'))\n    z = 2 * x\n    y = F.sum(z * z)\n    y.backward(retain_grad=True)\n"
    "    return [z.grad]",
    "x = chainer.Variable(np.ones(3, 'f'))\n    h = F.tanh(x * 2)\n    h += 1\n    z = F.exp(-h)\n    y = F.sum(z)\n"
    "    y.backward(True)\n    return [z.grad]",
]


@pytest.mark.parametrize("body", BODIES)
def test_both_sides_give_the_gradient(body):
    theirs, ours, code = both(PROGRAM.replace("BODY", body), head="")
    np.testing.assert_allclose(np.array(ours["run"]()), np.array(theirs["run"]()), err_msg=code)
