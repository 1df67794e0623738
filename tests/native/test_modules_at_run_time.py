"""Array modules of values that are arrays of NumPy in one call and tensors in another: a choice of the run."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_snippets import migrated, run

PROGRAM = """
def f(x, y):
    xp = chainer.backend.get_array_module(x)
    low = xp.min(x, axis=1)
    total = xp.sum(y.array, axis=1)
    return xp.all(low <= y.array[:, 0] + 5), total, xp.ones_like(total), xp.exp(x)


def run(xs):
    y = F.relu(chainer.Variable(xs[0]))
    return f(np.ones((1, 2), 'f'), y) + f(chainer.Variable(xs[1]).array, y)
"""


def test_both_kinds_of_arrays():
    """What is given a tensor is torch's; a result that may be NumPy's becomes a tensor where it meets one."""
    theirs, ours, code = run(PROGRAM)
    assert "xp = compat.array_module(x)" in code and "torch.sum(y.detach(), dim=1)" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


TESTED = """
def check(xp, x):
    xp.testing.assert_allclose(x, xp.asarray([1, 2]), rtol=0)
    return xp.asarray([1, 2]).sum()


def gpu():
    return check(chainer.backends.cuda.cupy, 0)


def run(xs):
    return [int(check(np, np.array([1, 2])))]
"""


def test_arrays_of_a_module_that_is_handed_in_reach_numpys_assertions():
    theirs, ours, _ = run(TESTED)
    assert ours == theirs == [3]


def test_two_functions_that_call_their_modules_alike() -> None:
    """One has CuPy and the other an array of the host: both get what they need, though both say `xp`."""
    text = """
import numpy as np
import pytest
import chainer
import chainer.functions as F
from chainer import cuda


def main(model, data):
    xp = chainer.cuda.cupy
    model.to_gpu()
    xp = model.xp
    return xp.hstack([xp.asarray(row) for row in data])


def norms(y):
    y = cuda.to_cpu(F.relu(chainer.Variable(y)).data)
    xp = cuda.get_array_module(y)
    return xp.sum(y ** 2.0, axis=1)
"""
    code = migrate_source(text, options=Options(style="native")).code
    assert "# TODO" not in code and "    xp = np\n    return xp.sum(y ** 2.0, axis=1)" in code, code


ONE_WAY = """
def draw(net, gpu, n):
    if gpu is None:
        {other}
    else:
        xp = chainer.cuda.cupy
    return net(chainer.Variable(xp.random.uniform(-1, 1, (n, 3)).astype(np.float32)))
"""


@pytest.mark.parametrize("other", ["xp = xp", "raise ValueError(gpu)"])
def test_a_name_that_is_given_to_itself_has_the_value_of_the_other_way(other):
    """A local name has none before, and the line raises: programs have it that only run on a GPU."""
    code = migrated(ONE_WAY.format(other=other)).code
    assert ".astype(" not in code and "float32" in code
