"""Axes that count up to the rank of an array: ``axis=tuple(range(1, x.ndim))``."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    x = F.reshape(F.concat(xs, axis=1), (2, 2, 2))
    n = F.sum(F.relu(x), axis=AXES)
    return [np.array(n.array)]
"""


@pytest.mark.parametrize(
    "axes",
    ["tuple(range(1, x.ndim))", "tuple(range(x.ndim))", "tuple(range(1, len(x.shape)))", "tuple(range(2))"],
)
def test_axes_up_to_a_known_rank(axes):
    theirs, ours, code = run(PROGRAM.replace("AXES", axes))
    assert f"torch.sum(F.relu(x), dim={axes})" in code
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)


@pytest.mark.parametrize("axes", ["tuple(range(x.ndim, 3))", "tuple(range(3, x.ndim))", "tuple(range(0))"])
def test_no_axes_at_all(axes):
    """They reduce nothing in Chainer, and everything in PyTorch."""
    theirs, ours, code = run(PROGRAM.replace("AXES", axes))
    assert "compat.sum_along" in code
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)


def test_axes_up_to_a_rank_that_nobody_knows():
    text = "def f(x):\n    return F.sum(F.relu(x), axis=tuple(range(1, x.ndim)))\n"
    assert "compat.sum_along" in migrated(text).code
