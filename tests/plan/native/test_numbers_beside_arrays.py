"""A number beside index arrays, with a slice among them: NumPy reads it as an array of one, and axes come first."""

import pytest

from tests.support import native_programs

SOURCE = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(2, 2))

    def __call__(self, x):
        xp = chainer.cuda.get_array_module(x.data)
        rows = xp.zeros((2, 5), dtype=np.int32) + 1
        y = xp.zeros((2, 3, 4, 4), dtype=np.float32)
        found = []
        for b in range(2):
            WHAT
        return found


def train(model):
    x = chainer.Variable(np.arange(96, dtype='f').reshape(2, 3, 4, 4))
    found = model(x)
    loss = sum(F.sum(part ** 2) for part in found)
    loss.backward()
    return [found, x.grad, [len(part) for part in found]]
"""
HEAD = native_programs.HEAD.split("class ")[0]
READ = {
    "x[b, :, rows[b], rows[b] + 1]": "x[[b], :, rows[b], rows[b] + 1]",
    "x[0, :, rows[b]]": "x[[0], :, rows[b]]",
    "x[b, ::2, rows[b]]": "x[[b], ::2, rows[b]]",
    "x[rows[b], :2, -1]": "x[rows[b], :2, [-1]]",
    "x[b - 1, rows[b], :]": "x[[b - 1], rows[b], :]",
}
KEPT = {
    "x[b, :, rows[b, 0], rows[b]]": "compat.get_item(",
    "x[b, ::-1, rows[b]]": "compat.get_item(",
    "x[b, rows[b]]": "x[b, rows[b]]",
}


@pytest.mark.parametrize("index", [*READ, *KEPT])
def test_elements_and_gradients_are_the_same(index):
    code = native_programs.check(SOURCE.replace("WHAT", f"found.append({index})"), head=HEAD)
    assert {**READ, **KEPT}[index] in code and ("get_item" in code) == ("get_item" in {**READ, **KEPT}[index]), code


def test_what_is_written_arrives_at_the_same_elements():
    written = (
        "y[b, :, rows[b], 0] = b + 1\n            y[b, :2, rows[b]] += 2\n            found.append(x[b] * (y[b] + 0))"
    )
    code = native_programs.check(SOURCE.replace("WHAT", written), head=HEAD)
    assert "y[[b], :, rows[b], [0]] = b + 1" in code and "y[[b], :2, rows[b]] += 2" in code and "TODO" not in code, code
