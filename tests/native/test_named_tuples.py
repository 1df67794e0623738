"""``collections.namedtuple``: what its fields hold is known, so arrays in them become tensors where they meet some."""

import numpy as np
import pytest

from tests.support.native_snippets import run

_HEAD = """
import collections
import chainer.links as L
Batch = collections.namedtuple({names})

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2, initialW=np.arange(6, dtype='f').reshape(2, 3) / 5)

    def forward(self, x, mask):
        return F.tanh(self.l(x)) * mask[:, None]

class Memory(object):
    def __init__(self):
        self.rows = collections.deque(maxlen=9)

    def push(self, *item):
        self.rows.append(Batch(*item))

    def batch(self, at):
        return {batch}
"""
_RUN = """
def run(xs):
    memory = Memory()
    for i, x in enumerate(np.arange(15, dtype='f').reshape(5, 3)):
        memory.push(x, np.float32(i % 2))
    b = memory.batch([0, 2, 3])
    {change}
    return Net()(b.x, b.mask).array
"""
NAMES = ["'Batch', 'x mask'", "'Batch', ['x', 'mask']", "typename='Batch', field_names=('x', 'mask')"]
BATCHES = [
    "Batch(*map(np.stack, zip(*[self.rows[i] for i in at])))",
    "Batch(*[np.array(column) for column in zip(*[self.rows[i] for i in at])])",
    "Batch._make(map(np.array, zip(*[self.rows[i] for i in at])))",
    "Batch(x=np.stack([self.rows[i].x for i in at]), mask=np.array([self.rows[i].mask for i in at]))",
]
CHANGES = ["", "b = b._replace(mask=np.where(b.mask > 0, 1., .5).astype('f'))", "b = Batch(**b._asdict())"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("batch", BATCHES)
def test_fields_of_a_named_tuple(batch, change):
    text = (_HEAD + _RUN).format(names=NAMES[BATCHES.index(batch) % 3], batch=batch, change=change)
    theirs, ours, code = run(text)
    assert "TODO" not in code, code
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)
