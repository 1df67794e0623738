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
