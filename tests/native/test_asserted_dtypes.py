"""Assertions about the identity of dtypes: both sides are of PyTorch, so what passed passes and what failed fails."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
import unittest

class Case(unittest.TestCase):
    def runTest(self):
        x_data = np.ones(3, 'DTYPE')
        y = F.relu(chainer.Variable(x_data))
        ASSERT

def run(xs):
    result = unittest.TestResult()
    Case().run(result)
    return len(result.failures), result.errors
"""


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
@pytest.mark.parametrize(
    "line",
    [
        "self.assertIs(y.data.dtype, x_data.dtype)",
        "self.assertIs(y.dtype, np.dtype('f'))",
        "self.assertIsNot(x_data.dtype, y.array.dtype)",
        "self.assertIsNot(y.dtype, np.dtype('d'))",
        "self.assertTrue(y.dtype is x_data.dtype)",
    ],
)
def test_identity_of_dtypes(line, dtype):
    theirs, ours, code = run(PROGRAM.replace("DTYPE", dtype).replace("ASSERT", line))
    assert theirs == ours, code
