"""`layer.W` of a layer that nobody knows: torch's own name where no object of the project can be meant."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.native_snippets import RULES, migrated, run

PROGRAM = """
import chainer.links as L
class Data:
    def __init__(self):
        self.W = {held}

def copied(to, layer, values):
    to.W.data[...] = layer.W.data * 2
    to.b.array = values
    return to.W.array + layer.W.shape[0]

class Gates(chainer.Chain):
    def __init__(self, gate):
        super().__init__()
        with self.init_scope():
            self.W = gate

def inner(link):
    return link.W.b.array + 1

def of_a_link(link):
    if isinstance(link, chainer.Link):
        return link.W.b.array + link.W.W.array.sum()

{more}
def run(xs):
    layer, to = L.Linear(3, 2, initialW=1), L.Linear(3, 2, initialW=3)
    result = globals()["copied"](to, layer, xs[0][0, :2])
    return result, globals()["inner"](Gates(to)), of_a_link(Gates(to)), Data().W
"""


@pytest.mark.parametrize("held", ["3", "2.5", "'wide'", "False"])
def test_a_number_under_that_name_is_asked_for_no_array(held):
    theirs, ours, code = run(PROGRAM.format(held=held, more=""))
    for one, other in zip(theirs[:3], ours[:3], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert theirs[3] == ours[3]
    assert "to.weight" in code and "layer.weight.shape[0]" in code and "link_attribute" not in code
    assert "link.W.bias" in code and "link.W.weight" in code  # a link that is called W


@pytest.mark.parametrize(
    ("held", "more"),
    [
        ("np.ones(3, 'f')", ""),
        ("None", ""),
        ("3", "def wide(data):\n    return data.W + 1\ndef old(data):\n    return data.W.real\n"),
    ],
)
def test_what_may_be_an_own_object_is_looked_up(held, more):
    code = migrated(PROGRAM.format(held=held, more=more)).code
    if more:
        assert "compat.link_attribute(data, 'W') + 1" in code and "compat.link_attribute(data, 'W').real" in code
    else:
        assert "compat.link_attribute(layer, 'W').shape[0]" in code


def test_a_link_called_w_keeps_its_name_in_a_second_run():
    text = """
import chainer.links as L
class Data:
    b = np.ones(3)
def gates(gru):
    if isinstance(gru, chainer.Link):
        return gru.W.b.array, gru.W.W.array, gru.bn.gamma, F.no_such_function(gru)
"""
    code = migrated(text).code
    assert "compat.link_attribute(gru.W, 'b').detach(), gru.W.weight.detach()" in code
    again = migrate_source(code, rules=RULES)
    assert again.code == code


def test_a_link_that_keeps_chainers_name_is_asked_for_it():
    theirs, ours, code = run("""
import chainer.links as L
def factor(scale):
    return scale.W.array * 2
def run(xs):
    return globals()["factor"](L.Scale(0, W_shape=(2,)))
""")
    np.testing.assert_array_equal(theirs, ours.numpy())
    assert "compat.link_attribute(scale, 'W')" in code
