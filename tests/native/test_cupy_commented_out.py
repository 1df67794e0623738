"""`xp = cp` where the line that imports CuPy is commented out: no more is meant by the name than there was."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
# import cupy as {name}

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(2, 2, initialW=0.5))
        self.kept = [self.l.W, self.l.b]

    def __call__(self, x):
        return F.sum(self.l(x) ** 2)

    def squares(self, x, gpu):
        if gpu >= 0:
            xp = {name}
        else:
            xp = np
        self.sums = []
        for v in range(len(self.kept)):
            self.sums.append(xp.zeros(self.kept[v].data.shape))
        for i in range(2):
            loss = self(x)
            self.cleargrads()
            loss.backward()
            for v in range(len(self.sums)):
                self.sums[v] += xp.square(self.kept[v].grad)
        return [float(total.sum()) for total in self.sums]

def run(xs):
    return Net().squares(xs[0], -1)
"""


@pytest.mark.parametrize("name", ["cp", "cupy"])
def test_it_means_cupy(name):
    theirs, ours, code = run(PROGRAM.format(name=name))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert f"xp = {name}" not in code and "torch.square(self.kept[v].grad)" in code


@pytest.mark.parametrize(
    "bound",
    ["def use(cp):\n    return cp", "cp = None", "from somewhere import *", "for cp in range(3):\n    pass"],
)
def test_a_name_that_something_binds_is_its_own(bound):
    code = migrated(PROGRAM.format(name="cp") + bound + "\n").code
    assert "torch.device('cuda')" not in code
