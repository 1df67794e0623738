"""A class with an ``init_scope`` of its own: what it does when the block ends is done."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import contextlib
import chainer.links as L


class Base(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.counts = []

    @contextlib.contextmanager
    def init_scope(self):
        with super().init_scope():
            yield
        self.counts.append(len(list(self.links())))


class Net(Base):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 3)
            self.b = L.Linear(3, 3, initialW=chainer.initializers.Constant(0.1), initial_bias=np.ones(3, 'f'))
        with self.init_scope():
            self.c = L.Linear(3, 3, nobias=True)


class Plain(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 3){asked}


def add(net):
    with net.init_scope():
        net.d = L.Linear(3, 3)


def run(xs):
    net, plain = Net(), Plain()
    add(net)
{more}    found = net.b.W.array.sum(), net.b.b.array.sum(), abs(net.a.b.array).sum()
    return net.counts, [float(v) for v in found], len(list(plain.params()))
"""


@pytest.mark.parametrize("asked", ["", "\n            self.scoped = self.within_init_scope"])
def test_the_block_of_ones_own_scope_stays(asked: str) -> None:
    theirs, ours, code = run(PROGRAM.format(more="", asked=asked))
    assert ours[0] == theirs[0] == [3, 4, 5], code
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
    assert ours[2] == theirs[2] == 2
    assert code.count("with self.init_scope():") == 2


def test_an_object_that_may_have_none_is_a_question() -> None:
    found = [s for s in migrated(PROGRAM.format(more="    add(eval('net'))\n", asked="")).sites if "?.init" in s.symbol]
    assert [site.state for site in found] == ["review"] and "Only classes" in found[0].message
