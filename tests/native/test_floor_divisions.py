"""``lengths = (lengths + 1) // 2`` in a model: an array of lengths keeps whole numbers, a Variable is rounded down."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
class Encoder(chainer.Chain):
    def __call__(self, x, lengths):
        x = F.relu(x)
        DIVIDE
        return x, lengths

class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = Encoder()

    def __call__(self, x, lengths):
        return self.encoder(x, lengths)

def run(xs):
    given = VALUE
    y, lengths = Model()(xs[0], given)
    return y, lengths, TAKEN
"""
ARRAY, VARIABLE, ITEM = (
    "np.array([7, 4, 3])",
    "chainer.Variable(np.array([0.7, 5.5, 2.1], 'f'))",
    "xs[3][0, :lengths[1]]",
)


@pytest.mark.parametrize("value", [ARRAY, VARIABLE, "np.array([6.5, -3.1])", "[np.array(5)][0]"])
@pytest.mark.parametrize(
    "divide",
    [
        "lengths = (lengths + 1) // 2",
        "lengths = (lengths + 1) // 2; lengths = (-lengths) // 3",
        "n = 1; lengths = 9 // (lengths + 1)",
        "x = x // 0.5; lengths = lengths // 0.5",
    ],
)
def test_floor_division_of_what_is_taken_for_a_tensor(divide, value):
    program = PROGRAM.replace("DIVIDE", divide).replace("VALUE", value).replace("TAKEN", "given is lengths")
    (y, lengths, same), (our_y, our_lengths, our_same), code = run(program)
    np.testing.assert_array_equal(y.array, our_y.detach().numpy())
    expected = np.asarray(getattr(lengths, "array", lengths))
    found = np.asarray(our_lengths.detach() if hasattr(our_lengths, "detach") else our_lengths)
    np.testing.assert_array_equal(expected, found)
    assert expected.dtype.kind == found.dtype.kind and same == our_same
    if "0.5" in divide:
        assert "torch.floor(x / 0.5)" in code, code


def test_whole_numbers_are_indices():
    program = PROGRAM.replace("DIVIDE", "lengths = (lengths + 1) // 4").replace("VALUE", ARRAY).replace("TAKEN", ITEM)
    (*_, theirs), (*_, ours), code = run(program)
    np.testing.assert_array_equal(theirs.array if hasattr(theirs, "array") else theirs, ours.detach().numpy())
    assert "(lengths + 1) // 4" in code, code
