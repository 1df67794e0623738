"""``self.xp`` of a module that has no parameters: its inputs say on which device it works."""

from __future__ import annotations

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

TEXT = """
import chainer
import chainer.functions as F


class Noise(chainer.Chain):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __call__(self, x):
        return F.relu(x) + self.xp.zeros(x.shape, 'f')

    def table(self):
        return self.xp.ones(self.size, 'f')
"""


def test_the_device_is_that_of_the_first_tensor_that_a_method_is_given() -> None:
    code = migrate_source(TEXT, options=Options(style="native")).code
    assert "torch.zeros(x.shape, dtype=torch.float32, device=x.device)" in code
    assert "torch.ones(self.size, dtype=torch.float32, device=compat.device_of(self))" in code
