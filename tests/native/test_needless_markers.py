"""Places that ask a person nothing: what is the same on both sides has no marker."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

EITHER = """
def far(x, y):
    d = (x - y) ** 2
    return {use}

def run(xs):
    a, b = np.arange(12).astype('f').reshape(2, 3, 2), np.ones((2, 3, 2), 'f') * 3
    x, y = F.relu(chainer.Variable(a)).array, F.relu(chainer.Variable(b)).array
    return far(a, b), far(x, y)
"""


@pytest.mark.parametrize(
    "use", ["d.sum(axis=2)", "d.sum()", "d.mean(1, keepdims=True)", "d.argmax(axis=1)", "d.cumsum(axis=0)", "d.max()"]
)
def test_methods_with_the_same_words(use):
    theirs, ours, code = run(EITHER.format(use=use))
    assert use in code and "TODO" not in code, code
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6)


@pytest.mark.parametrize("use", ["d.max(axis=1)", "d.sum(axis=2, dtype='d')", "d.var(axis=1)"])
def test_methods_with_other_meanings_are_not_left_so(use):
    code = migrated(EITHER.format(use=use)).code
    assert "TODO" in code or use not in code


WALK = """
import chainer.links as L
def run(xs):
    net = L.Linear(2, 3)
    found = [param.requires_grad for param in net.params()]
    for name, param in net.namedparams():
        if not param.requires_grad:
            found.append(name)
    return found
"""


def test_parameters_require_gradients():
    theirs, ours, code = run(WALK)
    assert theirs == ours == [True, True] and "TODO" not in code, code
    assert (
        "TODO" in migrated(WALK.replace("net = L", "net = (lambda x: x)(1)\n    x.disable_update()\n    net = L")).code
    )
    text = WALK.replace("for name, param in net.namedparams()", "for name, param in [('a', chainer.Variable(xs[0]))]")
    assert "TODO" in migrated(text).code


TESTED = """
import chainer.links as L
def run(xs):
    found = []
    for link in (L.Convolution2D(1, 1, 1), L.DilatedConvolution2D(1, 1, 1), L.Linear(1, 1)):
        found.append({test})
    return found
"""


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(link, L.Convolution2D) or isinstance(link, L.DilatedConvolution2D)",
        "isinstance(link, (L.Convolution2D, L.DilatedConvolution2D))",
    ],
)
def test_all_that_become_one_class_are_asked_for(test):
    theirs, ours, code = run(TESTED.format(test=test))
    assert theirs == ours == [True, True, False] and "TODO" not in code, code


def test_one_of_them_alone_is_a_question():
    assert "TODO" in migrated(TESTED.format(test="isinstance(link, L.Convolution2D)")).code
    text = TESTED.format(test="isinstance(link, L.Convolution2D) and isinstance(link, L.DilatedConvolution2D)")
    assert "TODO" in migrated(text).code


TOLD = """
import chainer.links as L
class Net(object):
    def __init__(self):
        self.fc = L.Linear(2, 3)
    def __call__(self, x, train=True):
        return F.dropout(self.fc(x), ratio=0.5, train=train)
"""


def test_a_mode_that_the_call_says_itself():
    code = migrated(TOLD).code
    assert "training=train" in code and "TODO" not in code, code
    assert "TODO" in migrated(TOLD.replace(", train=train", "")).code


SEVERAL = """
from chainer.functions.math.basic_math import Add, Mul, Sub
TABLE = {}
def register(cls):
    return lambda f: TABLE.setdefault(cls, f)
@register(Add)
def add(x):
    return x
@register(Mul)
def mul(x):
    return x
@register(Sub)
def sub(x):
    return x
"""


def test_what_one_answer_settles_is_asked_once():
    code = migrated(SEVERAL).code
    assert code.count("TODO(chainer2torch C2T100)") == 1, code


HIDDEN = """
from chainer.functions.activation import tanh

def before(x):
    return tanh(x) * 2

class Tanh(tanh.Tanh):
    pass

def tanh(x):
    return F.tanh(x) + 1

def run(xs):
    return before(chainer.Variable(xs[0])).array, tanh(chainer.Variable(xs[1])).array
"""


def test_a_name_that_the_file_defines_below_is_that_in_functions():
    theirs, ours, code = run(HIDDEN.replace("class Tanh(tanh.Tanh):\n    pass\n", ""))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-5)
    assert "TODO" not in code and "return tanh(x) * 2" in code, code
    assert "different things" not in migrated(HIDDEN).code
    other = HIDDEN.replace("def run", "from chainer.functions.activation import tanh\n\ndef run")
    assert "different things" in migrated(other.replace("tanh(chainer.Variable(xs[1]))", "tanh.tanh(xs[1])")).code
