"""np.testing and values that are tensors at times: where NumPy reads them itself, no helper brings them to the host."""

import textwrap

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import numpy as np
import chainer
import chainer.functions as F

def shifted(x):
    return x + 1

def given():
    return shifted(np.ones((2, 3), 'f')), shifted(F.relu(np.ones((2, 3), 'f')).array)

def number(flag):
    return F.sum(np.ones(3, 'f')).array if flag else 1.5

"""


def asserted(call: str, style: str = "native") -> str:
    body = f"def f(unknown):\n    array, n = given()[0], number(unknown)\n    np.testing.{call}\n"
    result = migrate_source(HEAD + textwrap.dedent(body), options=Options(style=style))
    assert result.error is None
    return result.code.strip().splitlines()[-1].strip().removeprefix("np.testing.")


@pytest.mark.parametrize(
    "call",
    [
        "assert_allclose(array, [[1.0], [2.0]])",
        "assert_array_equal([1.0], array)",
        "assert_array_almost_equal(array, unknown)",
        "assert_array_less(array, 5)",
        "assert_equal(array, np.ones((2, 3)))",
        "assert_almost_equal(n, 2.5)",
    ],
)
def test_numpy_reads_a_tensor(call: str) -> None:
    assert asserted(call) == call


@pytest.mark.parametrize(
    "call",
    [
        "assert_equal(array, array)",  # two tensors are compared by their own ==
        "assert_equal(array, 1.0)",
        "assert_equal(n, 2.5)",  # a tensor is no scalar for NumPy, so nothing equals it
        "assert_equal(n, np.mean(np.ones(3)))",
        "assert_almost_equal(array, 1.0)",
        "assert_allclose(F.relu(array), 1.0)",  # it may have a gradient
    ],
)
def test_what_numpy_would_compare_otherwise(call: str) -> None:
    assert asserted(call) != call


def test_the_faithful_style_asks_at_run_time() -> None:
    assert "compat.to_host(array)" in asserted("assert_allclose(array, [1.0])", "faithful")


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("test.assertIsInstance(unknown, xp.ndarray)", "test.assertIsInstance(unknown, (np.ndarray, torch.Tensor))"),
        ("assert isinstance(unknown, xp.ndarray)", "assert isinstance(unknown, (np.ndarray, torch.Tensor))"),
        ("test.assertIsInstance(xp.zeros(3), xp.ndarray)", "test.assertIsInstance(torch.zeros("),
        ("ok = isinstance(unknown, xp.ndarray)", "ok = isinstance(unknown, torch.Tensor)"),
    ],
)
def test_the_class_of_what_may_be_of_the_host_by_now(call: str, after: str) -> None:
    """In the test of a library: Chainer's program had an array of ``xp``, the output may have one of NumPy's."""
    body = f"def f(test, unknown):\n    xp = chainer.backend.get_array_module(F.relu(np.ones(3, 'f')))\n    {call}\n"
    result = migrate_source(HEAD + body, options=Options(style="native"))
    assert result.error is None
    found = result.code.strip().splitlines()[-1].strip()
    assert found.startswith(after), found
    assert ("np.ndarray" in found) == ("np.ndarray" in after)
