"""``assertAlmostEqual(loss.data, 0.5)``: Python rounds the difference, and a tensor cannot be rounded."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
import unittest

class Test(unittest.TestCase):
    def runTest(self):
        pass

def run(xs):
    test, y = Test(), F.sum(chainer.Variable(xs[0]))
    value = float(y.data)
    {asserted}
    return value
"""


@pytest.mark.parametrize(
    "asserted",
    [
        "test.assertAlmostEqual(y.data, value + 1e-9)",
        "test.assertAlmostEqual(value + 1e-9, y.data, places=6)",
        "test.assertNotAlmostEqual(y.array, value + 1)",
        "test.assertAlmostEqual(y.data, value + 0.01, delta=0.1)",
    ],
)
def test_a_loss_is_compared_as_a_number(asserted):
    theirs, ours, code = run(PROGRAM.format(asserted=asserted))
    assert ours == pytest.approx(theirs) and ".item()" in code.partition("value = ")[2].partition("\n")[2]


def test_what_is_not_equal_is_still_told():
    with pytest.raises(AssertionError):
        run(PROGRAM.format(asserted="test.assertAlmostEqual(y.data, value + 1)"))
