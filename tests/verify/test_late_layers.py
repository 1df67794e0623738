"""Layers that a model makes in its first forward pass start with the same values on both sides, too."""

from tests.support import model_batch

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L


def join(block, x):
    if not hasattr(block, 'out'):
        with block.init_scope():
            block.out = L.Linear(6, x.shape[1])
            block.norm = L.BatchNormalization(x.shape[1])


class Block(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inner = L.Linear(4, 6)

    def __call__(self, x):
        h = self.inner(x)
        join(self, x)
        return F.relu(x + self.norm(self.out(h)))
"""


def test_they_start_with_the_same_values(tmp_path):
    code = model_batch.migrated(tmp_path, PROGRAM)
    variants = {"right": code, "wrong": code.replace("relu(x +", "relu(2 * x +")}
    found = model_batch.verify(tmp_path, PROGRAM, variants, {None: ("Block", [], {"x": "f32[5,4]"})})
    assert found["right"][0] == "passed" and found["wrong"][0] == "failed", found
