"""``h + sigma * xp.random.randn(*h.shape)``: a Variable keeps its dtype, whatever ``sigma`` is."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
import json
from chainer import cuda


def noisy(h, sigma):
    xp = cuda.get_array_module(h)
    np.random.seed(0)
    return EXPRESSION


def run(xs):
    h = chainer.Variable(np.ones((2, 3), 'f'))
    y = noisy(h, json.loads('0.5'))
    return np.dtype(str(y.dtype).replace('torch.', '')).name, float(F.sum(y).array)
"""


@pytest.mark.parametrize(
    "expression",
    [
        "h + sigma * xp.random.randn(*h.shape)",
        "h - xp.random.normal(0, 1, h.shape) * sigma",
        "h * (xp.random.uniform(-1, 1, h.shape) / sigma)",
        "h + sigma * xp.random.randn(*h.shape).astype('f')",
        "h + xp.random.randn(*h.shape)",
    ],
)
def test_the_dtype_stays(expression: str) -> None:
    theirs, ours, _ = run(PROGRAM.replace("EXPRESSION", expression))
    assert theirs[0] == ours[0] == "float32"
    assert ours[1] == pytest.approx(theirs[1])
