"""What is a number for some callers and an element of a tensor for others, beside arrays on the host."""

import pytest

from tests.support.native_programs import check

PROGRAM = """
from chainer import cuda


def boxes(loc, scale=1.):
    loc = cuda.to_cpu(loc)
    return {expression}


def train(model):
    y = model(chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) + .5)).array
    scales = chainer.Variable(np.array([0.5, 2], 'f')).array
    found = [boxes(y, scale) for scale in scales] + [boxes(np.ones((2, 3), 'f')), boxes(np.ones((2, 3), 'f'), 2)]
    return [len(str(value.dtype)) for value in found] + [float(value.sum()) for value in found]
"""


@pytest.mark.parametrize(
    "expression",
    [
        "scale * loc", "loc * scale", "loc / scale", "scale / (loc + 9)", "loc - scale", "scale - loc",
        "abs(loc) ** scale", "loc // scale", "abs(loc) % scale", "(2 * scale) * loc + scale * 3",
        "loc > scale", "scale <= loc", "(loc > scale) & (loc < scale + 1)", "np.zeros((2, 3)) + scale",
        "np.where((loc >= scale) | (scale == loc))[0]",
    ],
)  # fmt: skip
def test_an_operator_between_them(expression: str) -> None:
    """PyTorch refuses NumPy's array on the left, and gives a tensor where it takes it on the right."""
    code = check(PROGRAM.replace("{expression}", expression))
    assert "TODO" not in code
