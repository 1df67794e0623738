"""What a function of Chainer's takes as one array, or a list of some, becomes a tensor, also from the host."""

import numpy as np

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L

def scaled(a, n):
    return eval('a * n')

def padded(xs):
    return eval('[x + 1 for x in xs]')

def step(link):
    a = np.arange(6).astype('f').reshape(3, 2)
    x = scaled(a, 2)
    rows = padded(a.reshape(3, 1, 2))
    h = F.relu(x) + F.concat(rows, axis=0)
    return link(x), F.transpose_sequence(rows)[0] + F.stack(rows)[:, 0], h

def run(xs):
    link = L.Linear(2, 3)
    link.W.array[...] = 1
    return [y.array for y in step(link)]
"""


def test_arrays_of_the_host():
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-6)
    assert "F.relu(torch.as_tensor(x))" in code, code
    assert "torch.cat([torch.as_tensor(item) for item in rows])" in code, code
