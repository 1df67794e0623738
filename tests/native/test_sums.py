"""``loss += x`` in the native style: left as it is where nobody can tell, and gradients are Chainer's in both forms."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    w = chainer.Parameter(np.array([[1.0, 2.0]], 'f'))
    w.cleargrad()
LINES
    return [np.array(y.array), np.array(w.grad)]
"""


def program(lines):
    return PROGRAM.replace("LINES", "\n".join("    " + line for line in lines))


LOOP = ["y = 0", "for x in xs:", "    y += F.sum(x * w)", "y.backward()"]
AGAIN = ["for x in xs:", "    y = F.sum(w * x) / 2", "    y += F.sum(w ** 2)", "    y.backward()"]
HELD = ["y = F.sum(w)", "z = y", "y += F.sum(w * xs[0])", "y = y * z", "y.backward()"]
KEPT = ["y = F.exp(w)", "y += w", "y = F.sum(y)", "y.backward()"]
READ = ["y = 0", "z = 1", "for x in xs:", "    y += F.sum(x * w)", "    z = z * y", "y = y + z", "y.backward()"]
PART = ["y = w * 1", "z = y[0, 0]", "z += F.sum(w)", "y = F.sum(y) * z", "y.backward()"]


@pytest.mark.parametrize(
    ("lines", "in_place"),
    [(LOOP, True), (AGAIN, True), (HELD, False), (KEPT, False), (READ, False), (PART, False)],
    ids=["loop", "again", "held", "kept", "read", "part"],
)
def test_sums_are_chainers(lines, in_place):
    theirs, ours, code = run(program(lines))
    assert ("+=" in code) is in_place
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_operands_have_no_more_parentheses_than_they_need():
    text = "def f(a, b):\n    F.relu(a)\n    F.relu(b)\n    return F.squared_error(a * 2, b - 1)\n"
    assert "return (a * 2 - (b - 1)) ** 2" in migrated(text).code


AXIS_BY_NAME = """
def weighted(a, b, axis=0):
    return (a * b[:, None]).sum(axis=axis) / b.sum(axis=axis) + a.max(axis=axis) - a.mean(axis=axis)


def run(xs):
    x = F.tanh(chainer.Variable(xs[0])).array
    return weighted(x, x[:, 0]), weighted(x, x[:, 0], axis=0)
"""


def test_an_axis_that_is_a_number_is_no_tuple_without_axes():
    theirs, ours, code = run(AXIS_BY_NAME)
    assert "(a * b[:, None]).sum(axis) / b.sum(axis) + a.amax(axis) - a.mean(axis)" in code, code
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-6)
