"""``x.dtype != object``: no tensor has that dtype, so the question stays as it is, for arrays and tensors alike."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
def told(x):
    return x.dtype {operator} {dtype}

def run(xs):
    x = chainer.Variable(xs[0])
    return told(x), told(x.array), told(np.array([x, None], dtype=object)), x.dtype == np.float32
"""


@pytest.mark.parametrize("operator", ["==", "!="])
@pytest.mark.parametrize("dtype", ["object", "str", "bytes", "np.object_", "np.str_"])
def test_what_no_tensor_is(operator, dtype):
    theirs, ours, code = run(PROGRAM.format(operator=operator, dtype=dtype))
    assert [bool(one) for one in ours] == [bool(one) for one in theirs]
    assert f"{operator} {dtype}" in code
