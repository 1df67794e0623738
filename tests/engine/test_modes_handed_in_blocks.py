"""Functions that are handed the mode, called in a block of ``using_config('train', ...)`` in a method of a model."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


def mode():
    return 1. if chainer.config.train else 2.


def dropped(x):
    return F.dropout(x, .9)


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2)

    def ask(self, x):
        with chainer.using_config('train', VALUE):
            return mode()

    def both(self, x):
        with chainer.using_config('train', VALUE):
            here = mode()
        return here + 10 * mode()

    def later(self, x):
        with chainer.using_config('train', VALUE):
            f = lambda: mode()
        return f()

    def drop(self, x):
        with chainer.using_config('train', False):
            return dropped(x)


def run(xs):
    net = Net()
    train = bool(len(xs) > 99)
    return [np.array(net.ask(xs[0])), np.array(net.both(xs[0])), np.array(net.later(xs[0])),
            chainer.as_variable(net.drop(xs[0])).array]
"""


@pytest.mark.parametrize("value", ["False", "not x.ndim"])
def test_the_block_says_the_mode_and_not_the_module(value):
    """The block named no module, so ``mode(training=self.training)`` was train mode in it, and exact."""
    theirs, ours, code = run(PROGRAM.replace("VALUE", value))
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, err_msg=code)


CHANGED = """
import chainer.links as L


def dropped(x):
    return F.dropout(x, .9)


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2)

    def forward(self, x):
        return dropped(self.l(x))

    def renamed(self, x, train):
        with chainer.using_config('train', train):
            train = True
            return dropped(x)

    def counted(self, x, modes):
        with chainer.using_config('train', next(modes)):
            return dropped(x)


def direct(x, modes):
    with chainer.using_config('train', next(modes)):
        return F.dropout(x, .9)


def run(xs):
    net, x = Net(), chainer.as_variable(xs[0])
    found = [net.renamed(x, False), net.counted(x, iter([False, True])), direct(x, iter([False, True]))]
    return [y.array for y in found]
"""


def test_a_mode_that_may_say_something_else_by_then_is_asked_of_the_thread():
    """``training=train`` behind ``train = True`` was train mode, ``next(modes)`` was asked twice: exact, both."""
    theirs, ours, code = run(CHANGED)
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, err_msg=code)
