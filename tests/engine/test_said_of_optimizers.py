"""Parts of the optimizers' helpers stay where something is asked of them, whatever they are called."""

import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file
from tests.support.printed import printed

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


def test_keywords_of_an_own_optimizer_are_passed_over():
    """``optimizer.update(learn=False)`` for one of the program's own and one of Chainer's, which takes no notice."""
    source = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L


class Half:
    def setup(self, model):
        self.model = model

    def update(self, learn=True):
        for param in self.model.params():
            param.array[...] *= 0.5 if learn else 1


def train(optimizer, model, x):
    optimizer.setup(model)
    for _ in range(2):
        loss = F.sum(model(x) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update(learn=False)
    return [p.array.tolist() for p in model.params()]


x = np.ones((2, 3), np.float32)
for optimizer in (Half(), chainer.optimizers.Adam(0.1)):
    print(np.round(train(optimizer, L.Linear(3, 1, initialW=1), x)[0], 4))
"""
    result = migrate_source(source, options=Options(style="native"))
    assert printed(result.code, "native", result.helpers, said=result.said) == printed(source)
