"""A loop that cuts a model's graph where nobody can replace the cut: the states of its layers heed the mark."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file
from tests.support.native_snippets import HEAD, run

PROGRAM = """
import chainer.links as L
class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = {layer}
            self.l2 = L.StatelessLSTM(2, 2)
        for _, p in sorted(self.namedparams()):
            p.array[...] = np.linspace(-1, 1, p.array.size).reshape(p.shape)
        self.c = self.h = None

    def forward(self, x):
        self.c, self.h = self.l2(self.c, self.h, self.l1(x))
        return self.h

def run(xs):
    model, found, loss = Model(), [], 0
    for i in range(4):
        loss += F.sum(model(xs[i]) ** 2)
        if i % 2:
            model.cleargrads()
            loss.backward()
            loss.unchain_backward()
            model.h.unchain_backward()
            found += [loss.array, model.l2.upward.W.grad]
            loss = 0
    return found
"""


@pytest.mark.parametrize("layer", ["L.LSTM(2, 2)", "L.StatefulGRU(2, 2)"])
def test_the_next_pass_ends_at_the_cut(layer):
    program = PROGRAM.format(layer=layer)
    theirs, ours, code = run(program)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-4, err_msg=code)
    result = migrate_source(HEAD + program, options=Options(style="native"))
    text = compat_file.build(result.helpers, style="native", said=result.said)
    assert "live(self.h)" in text, text


def test_without_a_mark_nothing_heeds_one():
    program = PROGRAM.format(layer="L.LSTM(2, 2)").replace("            model.h.unchain_backward()\n", "")
    result = migrate_source(HEAD + program.replace("loss.unchain", "chainer.sum"), options=Options(style="native"))
    assert "live(" not in compat_file.build(["LSTM"], style="native", said=result.said)
