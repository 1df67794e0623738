"""Formulas that name an argument twice take an attribute as they take a name: nothing is computed again."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
class Held(object):
    pass


def run(xs):
    held, t = Held(), chainer.Variable(np.array([0, -1, 2], 'i'))
    held.x = chainer.Variable(np.array([[0.5, -1, 2, 0], [1, 2, -0.5, 3], [-1, 0.25, 1, 2]], 'f'))
    held.t = t
    loss = 0
    for i in range(2):
        loss = loss + {call}
    F.sum(loss).backward()
    return [np.array(loss.array), np.array(held.x.grad)]
"""


@pytest.mark.parametrize(
    ("call", "helper"),
    [
        ("F.softmax_cross_entropy(held.x, t, normalize=False)", "softmax_cross_entropy"),
        ("F.softmax_cross_entropy(held.x * (i + 1), held.t)", "softmax_cross_entropy"),
        ("F.gaussian_kl_divergence(held.x * 2, held.x)", "gaussian_kl_divergence"),
        ("F.gaussian_nll(held.x * 2, held.x + 1, held.x)", "gaussian_nll"),
        ("F.normalize(held.x, axis=1)", "normalize"),
        ("F.crelu(held.x)", "crelu"),
    ],
)
def test_attributes_are_written_twice(call, helper):
    theirs, ours, code = run(PROGRAM.format(call=call))
    assert f"compat.{helper}" not in code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


COMPUTED = """
class Held(object):
    def __init__(self, values):
        self.values, self.asked = values, 0

    @property
    def x(self):
        self.asked += 1
        return self.values * self.asked

    def __getitem__(self, i):
        self.asked += 1
        return self.values * self.asked


class Kept(object):
    def __init__(self, held):
        self.held = held


def run(xs):
    held = Held(chainer.Variable(np.array([[0.5, -1, 2], [1, 2, -0.5]], 'f')))
    t = chainer.Variable(np.array([0, 2], 'i'))
    kept = Kept(held)
    loss = {call}
    return [np.array(loss.array), np.array(held.asked)]
"""


@pytest.mark.parametrize(
    "call",
    [
        "F.sum(F.crelu({x}) ** 2)",
        "F.sum(F.normalize({x}, axis=1))",
        "F.softmax_cross_entropy({x}, t, normalize=False)",
        "F.gaussian_kl_divergence(held.values, {x})",
        "F.accuracy({x}, t)",
    ],
)
@pytest.mark.parametrize("x", ["held.x", "kept.held.x", "held[0]"])
def test_what_is_computed_is_read_once(call, x):
    """A property, or an item of an object of the program's, may be another one at the second time."""
    theirs, ours, _ = run(COMPUTED.format(call=call.format(x=x)))
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
