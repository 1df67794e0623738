"""Shapes and axes that are arrays, ranges and the like: PyTorch takes tuples and lists of numbers only."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

CASES = {
    "a range": "F.moveaxis(x, [0, 1], range(1, 3))",
    "a range of its own name": "F.transpose(x, order)",
    "an order by values": "F.transpose(x, np.argsort([2, 0, 1]))",
    "sizes of a new array": "x + xp.zeros(xp.array(x.shape), 'f')",
    "sizes that NumPy has": "x[0].T + xp.ones(sizes, 'f')",
    "the array in another shape": "chainer.Variable(x.array.reshape(xp.array([2, 4])))",
    "another shape by a function": "chainer.Variable(xp.reshape(x.array, sizes[::-1].copy()))",
    "times": "chainer.Variable(xp.tile(x.array, np.array([2, 1, 3])))",
    "a parameter": "chainer.Parameter(1.5, xp.array(sizes))",
}


@pytest.mark.parametrize("name", CASES)
def test_sequences_of_numbers_become_what_pytorch_takes(name: str) -> None:
    theirs, ours, code = run(f"""
def run(xs):
    x = F.stack([chainer.Variable(x) for x in xs], axis=1)
    xp = chainer.cuda.get_array_module(x)
    sizes = np.array([2, 4])
    order = range(3)
    return {CASES[name]}
""")
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.array, code)


@pytest.mark.parametrize("shape", ["(4, 2)", "[4, 2]", "x.shape", "shape"])
def test_what_may_be_a_tuple_stays_as_it_is(shape: str) -> None:
    assert f"torch.reshape(x, {shape})" in migrated(f"\n\ndef f(x, shape):\n    return F.reshape(x, {shape})\n").code


BESIDE = {
    "a list of looked up numbers": "looked == y",
    "the other way round": "y != looked",
    "a tuple of them": "tuple(looked) == y",
    "what they are at most": "looked <= y",
    "a list of arrays": "[y[0], y[1], y[2]] == y",
    "their difference": "looked - y",
    "a sum of arrays": "y + [y[2], y[1], y[0]]",
    "of what may be an array": "looked == held(v)",
    "or none": "looked == held(y)",
    "a tuple as it stands": "held(v) != (0, 1, 2)",
}


@pytest.mark.parametrize("name", BESIDE)
def test_lists_beside_arrays_are_one(name: str) -> None:
    theirs, ours, code = run(f"""
def held(t):
    if isinstance(t, chainer.Variable):
        tt = t.data
    else:
        tt = t
    return tt


def run(xs):
    table = dict(enumerate(eval("[0, 1, 5]")))
    v = chainer.Variable(np.array([0, 1, 2], dtype=np.float32))
    y = F.relu(v).data
    looked = [table[i] for i in range(3)]
    return np.sum({BESIDE[name]}), ({BESIDE[name]}).tolist()
""")
    assert (float(ours[0]), ours[1]) == (float(theirs[0]), theirs[1]), code


def test_lists_beside_arrays_of_what_nobody_knows() -> None:
    code = migrated("""

def f(table, t, order):
    looked = [table[i] for i in order]
    return np.sum(looked == t.data), np.sum((0, 1, 2) == t.data)


class Held:
    def __init__(self):
        self.data = []

    def same(self, other):
        return self.data == [] or self.data == ["a", "b"] or self.data == [[1], [2]]
""").code
    assert "looked == compat.to_host(t.data)" in code and "(0, 1, 2) == compat.to_host(t.data)" in code
    assert 'self.data == [] or self.data == ["a", "b"] or self.data == [[1], [2]]' in code
