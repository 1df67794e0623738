"""``b = a[:, ::-1]`` shows in NumPy what is written into either of the two; PyTorch copies, and a mark says so."""

import pytest

from chainer2torch.engine import migrate_source

HEAD = """
import chainer
import numpy as np


def f(v):
    a = chainer.Variable(v).array.copy()
    b = a[:, ::-1]
"""


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("return b", "exact"),
        ("a[0] = 1\n    return a", "exact"),  # nobody reads b
        ("c = b * 2\n    a[0] = 1\n    return c", "exact"),
        ("a[0] = 1\n    return b", "review"),
        ("a += 1\n    return a, b", "review"),
        ("a.fill(0)\n    return b.sum()", "review"),
        ("b[0] = 1\n    return a", "review"),
        ("b *= 2\n    return a", "review"),
    ],
)
def test_what_is_written_on_one_side_and_read_on_the_other(lines, state):
    result = migrate_source(f"{HEAD}    {lines}\n\n\nf(np.zeros((2, 3), 'f'))\n")
    found = [s.state for s in result.sites if s.symbol == "numpy.ndarray.__getitem__"]
    assert found == [state], result.code
    assert ("a view in NumPy" in result.code) is (state == "review")
