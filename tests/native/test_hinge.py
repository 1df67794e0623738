"""``F.hinge`` takes a label of -1 for the last class, as an index of NumPy's: ``-xp.ones(n)`` for one column."""

import pytest

from tests.support.native_snippets import run


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("labels", ["[-1]", "[1]", "[0]"])
def test_labels_of_hinge(norm: str, labels: str) -> None:
    theirs, ours, _ = run(
        f"""
def run(xs):
    x = chainer.Variable(xs[0])
    loss = F.hinge(x, np.array({labels}, np.int32), norm="{norm}")
    loss.backward()
    return [float(loss.data)] + [float(g) for g in x.grad[0]]
""".replace("x = chainer.Variable(xs[0])", "x = chainer.Parameter(np.array([[0.25, -0.5]], 'f'))")
    )
    assert ours == pytest.approx(theirs)
