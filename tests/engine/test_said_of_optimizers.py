"""Parts of the optimizers' helpers stay where something is asked of them, whatever they are called."""

import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file

PROGRAM = """
import chainer
import chainer.links as L

def run():
    a, b = L.Linear(2, 1), L.Linear(2, 1)
    first = chainer.optimizers.Adam(0.1).setup(a)
    second = chainer.optimizers.MomentumSGD(0.1).setup(b)
    for o in (first, second):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "said", "there"),
    [
        ("print(o.t)", "opt.t", "_count"),
        ("print(o.epoch)", "opt.epoch", "_count"),
        ("o.update()", None, None),
    ],
)
def test_a_name_that_tells_nothing(line, said, there):
    result = migrate_source(PROGRAM.format(line=line), options=Options(style="native"))
    assert said is None or said in result.said
    text = compat_file.build(result.helpers, style="native", said=result.said)
    assert ("def _count(" in text) is (there is not None), text
