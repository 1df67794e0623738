"""Calls of version 1 that say the mode: to layers without dropout it means nothing, models take it themselves."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L

class Tagger(chainer.Chain):
    def __init__(self):
        pass

    def load(self, rows):
        for i, row in enumerate(rows):
            self.embed.W.data[i] = self.xp.array(row, dtype=np.float32)

class RNN(Tagger):
    def __init__(self, n):
        super(Tagger, self).__init__(
            embed=L.EmbedID(n, 2),
            l1=L.NStepLSTM(1, 2, 2, dropout=0),
        )

    def forward(self, xs, train=True):
        hx = chainer.Variable(self.xp.zeros((1, len(xs), 2), dtype=self.xp.float32))
        ys = [self.embed(x) for x in xs]
        return self.l1(hx, hx, ys, train=train)[2]

def run(xs):
    net = RNN(3)
    net.load([[1, 2], [3, 4], [5, 6]])
    return [p.shape for p in net.params()][:1], net.embed.W.data
"""


def test_a_layer_that_never_drops_is_just_called():
    theirs, ours, code = run(PROGRAM.replace(", train=train)[2]", ")[2]"))
    np.testing.assert_allclose(np.asarray(theirs[1]), ours[1].numpy())
    assert "device=next(self.parameters()).device" in code and "device_of" not in code, code
    code = migrated("import chainer\nimport numpy as np\n" + PROGRAM).code
    assert "return self.l1(hx, hx, ys)[2]" in code, code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dropout=0)", "dropout=0.5)"),
        ("dropout=0)", "dropout=n)"),
        ("    net.load(", "    net.l1.dropout = 0.5\n    net.load("),
    ],
)
def test_one_that_may_drop_is_told_its_mode(before, after):
    code = migrated("import chainer\nimport numpy as np\n" + PROGRAM.replace(before, after)).code
    assert "self.l1(hx, hx, ys)[2]" not in code, code
    assert "call_in_mode(self.l1, train, hx, hx, ys)" in code or "self.l1.train(" in code, code


TOLD = """
class Net(chainer.Chain):
    def __call__(self, x, t, train=True):
        return F.dropout(x, 0.5, train) * t

def step(target, x, t):
    return [m(x, t, train=False) for m in [target]], target['net'](x, t, train=False)

def run(xs):
    return None
"""


def test_a_model_of_the_projects_own_takes_the_mode():
    code = migrated("import chainer\n" + TOLD).code
    assert "target['net'](x, t, train=False)" in code, code
    code = migrated("import chainer\n" + TOLD.replace("train=True", "k=1").replace(", train)", ")")).code
    assert "compat.call_as_version_1(target['net'], x, t, train=False)" in code, code


def test_a_base_that_is_made_itself_may_have_no_parameters():
    text = PROGRAM.replace("        pass", "        super().__init__()")
    text = text.replace("    net = RNN(3)", "    bare = Tagger()\n    net = RNN(3)")
    assert "device_of(self)" in migrated("import chainer\nimport numpy as np\n" + text).code
