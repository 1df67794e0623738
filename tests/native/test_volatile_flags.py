"""Flags of version 1 that are set after a Variable was made: gradients stop where Chainer's graph began."""

import sys
import types
from unittest import mock

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file
from tests.support.native_snippets import HEAD

NETS = """import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(3, 3, initialW=np.arange(9, dtype='f').reshape(3, 3) / 40))
        self.train = True

    def __call__(self, x):
        SET
        return F.tanh(self.fc(x))
"""
# one step of a discriminator behind a generator, as version 1 says it, and as version 2 does
STEP = """
def run():
    gen, dis = Net(), Net()
    z = chainer.Variable(np.ones((2, 3), dtype='f'), volatile=True)
    ONE
    fake.volatile = False
    gen.zerograds()
    dis.zerograds()
    F.sum(dis(fake)).backward()
    back = [p.grad is not None and float(abs(p.grad).sum()) > 0 for p in gen.params()]
    return dis.fc.W.grad.tolist(), any(back)
"""
WAYS = ["fake = gen(z)", "h = gen(z)\n    fake = F.relu(h + h)", "fake = 2 * gen(x=z)"]


def _migrated(text):
    result = migrate_source(HEAD + text, options=Options(style="native", chainer_version=1, chainer_minor=20))
    assert result.error is None, result.error
    return result


def _run(result):
    compat = types.ModuleType("chainer_compat")
    exec(compile(compat_file.build(result.helpers, style="native"), "<helpers>", "exec"), compat.__dict__)
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
    return ours["run"]()


@pytest.mark.parametrize("way", WAYS)
def test_a_graph_that_begins_behind_a_volatile_one(way):
    text = NETS.replace("SET", "pass") + STEP.replace("ONE", way)
    later = text.replace(", volatile=True", "").replace("    fake.volatile = False\n", "")
    later = later.replace(way, "with chainer.no_backprop_mode():\n        " + way.replace("\n", "\n    "))
    theirs: dict = {}
    exec(compile(HEAD + later, "<original>", "exec"), theirs)
    result = _migrated(text)
    (mine, reached), (expected, expected_reached) = _run(result), theirs["run"]()
    np.testing.assert_allclose(mine, expected, rtol=1e-6)
    assert reached is expected_reached is False
    assert "fake = fake.detach()" in result.code and "TODO" not in result.code
    assert [s.difference for s in result.sites if s.symbol == "chainer.Variable.volatile"] == ["volatile-graphs"]


@pytest.mark.parametrize(
    "before",
    [
        "fake = gen(chainer.Variable(z.data))",  # nothing volatile reaches it
        "fake = F.broadcast_to(gen(chainer.Variable(z.data)), z.data.shape)",
        "fake = chainer.Variable(gen(z).data)",
        "fake = gen(z)\n    if dis.train:\n        fake = F.relu(gen(chainer.Variable(z.data)))",
    ],
)
def test_where_nobody_sees_a_volatile_one_it_is_asked(before):
    text = NETS.replace("SET", "pass") + STEP.replace("ONE", before)
    result = _migrated(text)
    assert "fake.volatile = False" in result.code and "C2T300" in result.code


@pytest.mark.parametrize("flag", ["not self.train", "self.train_later", "test"])
def test_a_mode_of_a_model_is_a_declared_difference(flag):
    text = NETS.replace("SET", f"x.volatile = {flag}")
    result = _migrated(text)
    assert "volatile" not in result.code
    assert [s.difference for s in result.sites if s.symbol == "chainer.Variable.volatile"] == ["volatile-graphs"]


@pytest.mark.parametrize(
    "lines", ["x.volatile = False", "x.volatile = self.fc(x)", "y = self.fc(x)\n        y.volatile = test"]
)
def test_other_flags_are_asked(lines):
    result = _migrated(NETS.replace("SET", lines))
    assert ".volatile = " in result.code and "C2T300" in result.code


def test_a_program_that_asks_for_flags_keeps_them():
    text = NETS.replace("SET", "x.volatile = test") + "\n\ndef f(x):\n    return x.volatile\n"
    assert "x.volatile = test" in _migrated(text).code
