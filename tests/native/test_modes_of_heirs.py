"""Modes of blocks in classes whose heirs differ in what they keep."""

from tests.support.native_snippets import migrated, run

HEIRS = """
import chainer.links as L


class Base(object):
    def __init__(self, model):
        self.model = model

    def run(self, x, train):
        with chainer.using_config('train', train):
            return self.core(x)

    def core(self, x):
        raise NotImplementedError


class Handed(Base):
    def __init__(self, model):
        super().__init__(model)
        self.function = model.__call__

    def core(self, x):
        return self.function(x)


class Plain(Base):
    def core(self, x):
        return self.model(x)


class Net(chainer.Chain):
    def forward(self, x):
        return F.dropout(x, 0.5)


def run(xs):
    x = chainer.Variable(np.ones((2, 3), 'f'))
    return [float(F.sum(kind(Net()).run(x, False)).array) for kind in (Handed, Plain)]
"""


def test_what_only_some_heirs_have_is_not_asked_of_all():
    theirs, ours, _ = run(HEIRS)
    assert ours == theirs == [6, 6]


PREDICT = """
class Net(chainer.Chain):
    def forward(self, x):
        return F.dropout(x, 0.5)

    def predict(self, x):
        with chainer.using_config('train', False):
            return self.forward(x) * 2
"""


def test_a_method_that_only_others_call_leaves_the_model_in_its_mode():
    """Whoever calls it may have called ``eval()``, and goes on in that mode."""
    alone = migrated(PREDICT).code
    assert "was_training = self.training" in alone and "self.train(was_training)" in alone, alone
    called = migrated(PREDICT + "\n\ndef f(x):\n    return Net().predict(x)\n").code
    assert "self.train()" in called
