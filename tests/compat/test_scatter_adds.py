"""``add_at`` beside NumPy, and where it stands for functions of NumPy and CuPy."""

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend.array_ufuncs import add_at
from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize(
    "index", [0, [1, 1, 0], (slice(None), [0, 2, 2]), (np.array([0, 1]), np.array([3, 3])), (Ellipsis, 1), slice(0, 2)]
)
def test_add_at(index, dtype):
    x = np.arange(8).reshape(2, 4).astype(dtype)
    for value in (2, np.ones_like(x[index])):
        theirs, ours, host = x.copy(), torch.from_numpy(x.copy()), x.copy()
        np.add.at(theirs, index, value)
        assert add_at(ours, index, value) is None and add_at(host, index, value) is None
        np.testing.assert_array_equal(ours.numpy(), theirs)
        np.testing.assert_array_equal(host, theirs)


def test_views_and_tensors_as_indexes():
    x = np.zeros((3, 4), "f")
    t = torch.zeros(4, 3).t()
    index = np.array([[0, 1], [1, 1]], "i")
    np.add.at(x, index, 1.5)
    add_at(t, torch.from_numpy(index), 1.5)
    np.testing.assert_array_equal(t.numpy(), x)


PROGRAM = """
import numpy as np
from chainer import cuda

def project(xp, a, i, v):
    if cuda.available and xp is cuda.cupy:
        scatter_add = cuda.cupyx.scatter_add
    else:
        scatter_add = np.add.at
    scatter_add(a, i, v)

def in_one(xp):
    return cuda.cupyx.scatter_add if xp is cuda.cupy else np.add.at

def stays(a):
    np.add.at(a, [0], 1)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_both_branches_take_the_helper(style):
    code = migrate_source(PROGRAM, options=Options(style=style)).code
    assert (
        code.count("compat.add_at") == 4
        and code.count("np.add.at") == 1
        and ": chainer.backends.cuda.cupyx" not in code
    )
