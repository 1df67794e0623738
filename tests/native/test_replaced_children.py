"""``block.conv = doubled(block.conv)``: what takes the place of a child is a child, in Chainer as in PyTorch."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import HEAD, both

PROGRAM = """
class Block(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Linear(3, 3, initialW=1)

    def __call__(self, x):
        return self.conv(x)

    def renew(self):
        self.conv = doubled(self.conv)


def doubled(layer):
    new = L.Linear(3, 2)
    new.W.array[...] = 2 * layer.W.array[:2]
    return new


def changed(block):
    block.conv = doubled(block.conv)
    return block


def run():
    found = []
    for block in (Block(), changed(Block())):
        if len(block.conv.b.array) == 3:
            block.renew()
        x = chainer.Variable(np.ones((2, 3), 'f'))
        loss = F.sum(block(x) ** 2)
        block.cleargrads()
        loss.backward()
        optimizer = optimizers.SGD(0.1)
        optimizer.setup(block)
        optimizer.update()
        found += [float(loss.array), float(block.conv.W.array.sum()), sum(p.size for p in block.params())]
    return found
"""


def test_values():
    theirs, ours, code = both(PROGRAM)
    assert np.allclose(ours["run"](), theirs["run"]())
    assert "block.conv = doubled(block.conv)" in code and "self.conv = doubled(self.conv)" in code
    assert "unregistered" not in code


@pytest.mark.parametrize(
    "lines",
    [
        "block.other = doubled(block.other)",
        "block.conv = doubled(other.conv)",
        "block.conv = L.Linear(3, 2)",
        "block.other = L.Linear(2, 2)\n    block.other = doubled(block.other)",
        "block.conv = doubled(block.conv)\n    block.conv = L.Linear(2, 2)",
    ],
)
def test_others_are_not(lines):
    text = PROGRAM.replace("block.conv = doubled(block.conv)", lines)
    code = migrate_source(HEAD + text, options=Options(style="native")).code
    function = code.partition("def changed")[2].partition("def run")[0]
    assert "set_unregistered(block" in function or "object.__setattr__(block" in function, function
