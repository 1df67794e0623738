"""Methods of a base that get ``*args`` and ``**kwargs``: the helper gets the instance behind ``super()``."""

import numpy as np
import pytest
import torch

from tests.support.native_programs import both

PROGRAM = """
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(2, 2)
        self.copies = 0

    def copy(self, *args, **kwargs):
        other = SUPER.copy(*args, **kwargs)
        other.copies = self.copies + 1
        return other


net = Net()
other = net.copy(MODE)
"""


@pytest.mark.parametrize("base", ["super()", "super(Net, self)"])
@pytest.mark.parametrize("mode", ["", "'copy'", "mode='share'"])
def test_copies_with_arguments_that_are_handed_on(base, mode):
    theirs, ours, code = both(PROGRAM.replace("SUPER", base).replace("MODE", mode), head="")
    assert "compat.copy_link(self, *args, **kwargs)" in code
    assert ours["other"].copies == theirs["other"].copies == 1 and ours["net"].copies == 0
    theirs["net"].fc.W.array[...] = 3
    with torch.no_grad():
        ours["net"].fc.weight.fill_(3)
    shared = [
        bool((np.asarray(values) == 3).all())
        for values in (theirs["other"].fc.W.array, ours["other"].fc.weight.detach())
    ]
    assert shared[0] == shared[1] == ("'copy'" not in mode)
