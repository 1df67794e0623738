"""Modes of blocks in classes whose heirs differ in what they keep."""

import pytest

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


HOLDER = """
class Net(chainer.Chain):
    def forward(self, x):
        return F.dropout(x, 0.5)


class Pictures(object):
    def __init__(self):
        self.func = None

    def load(self, name):
        self.func = eval(name)

    def feature(self, x):
        return self.core(x)

    def core(self, x):
        raise NotImplementedError


class Deep(Pictures):
    def core(self, x):
        return self.func(x)


def get(pictures, x):
    return pictures.feature(x)


def run(xs):
    pictures = Deep()
    pictures.load('Net()')
    x = chainer.Variable(np.ones((16, 16), 'f'))
    with chainer.using_config('train', False):
        y = CALL
    return [float(F.sum(y).array)]
"""


@pytest.mark.parametrize("call", ["pictures.feature(x)", "get(pictures, x)", "Pictures.feature(pictures, x)"])
def test_what_a_base_keeps_and_a_class_below_calls_has_the_mode(call):
    """The model that nobody knows stayed in training, silently."""
    theirs, ours, code = run(HOLDER.replace("CALL", call))
    assert ours == theirs == [256], code
