"""`x.array is y.array`: the arrays of Variables are the same objects, tensors made by detach() are not."""

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend.array_module import is_same_array
from tests.support.both_sides import both

_LINES = """
x.array is x.array
x.data is not x.array
x.array is y.array
x.array is z.array
x.array.copy() is x.array
F.relu(x).array is x.array
F.identity(x).array is x.array
not net.W.array is net.W.data
(net.W.array is held) == True
v.array is a
x[:1].array is x.array
x.grad is None
x.array is None
x.array is net
""".strip().splitlines()


def test_the_same_array():
    original, migrated = both(
        """
    x = chainer.Variable(np.ones((2, 3), 'f'))
    y, z = x, chainer.Variable(np.ones((2, 3), 'f'))
    a = np.zeros(3, 'f')
    v = chainer.Variable(a)
    net = L.Linear(3, 3)
    held = net.W.array
    found = [LINES]
    def of_unknown(xs):
        return [xs[0].array is xs[i].array for i in range(3)] + [xs[0].data is not xs[0].data]
    class Check:
        def assertTrue(self, value, msg=None):
            self.seen = ('is', bool(value), msg)
        def assertFalse(self, value, msg=None):
            self.seen = ('is not', not value, msg)
        def assertIs(self, a, b, msg=None):
            self.seen = ('is', a is b, msg)
        def assertIsNot(self, a, b, msg=None):
            self.seen = ('is not', a is not b, msg)
    def test(check):
        check.assertIs(x.array, y.array, msg='a')
        yield check.seen
        check.assertIsNot(x.array, z.array, 'b')
        yield check.seen
        check.assertIs(x, x)
        yield check.seen
    told = list(test(Check()))
    """.replace("LINES", ", ".join(_LINES))
    )
    assert migrated["found"] == original["found"]
    assert original["found"].count(True) > 3 and original["found"].count(False) > 3
    assert migrated["told"] == original["told"] == [("is", True, "a"), ("is not", True, "b"), ("is", True, None)]
    for space in original, migrated:
        space["more"] = space["of_unknown"]([space["x"], space["y"], space["z"]])
    assert migrated["more"] == original["more"] == [True, True, False, False]
    assert "x.grad is None" in migrated["__code__"]


@pytest.mark.parametrize(
    "a, b, same",
    [
        (torch.ones(2), torch.ones(2), False),
        (torch.zeros(0), torch.zeros(0), False),
        (np.ones(2), np.ones(2), False),
        ("a", "a", True),
        (None, torch.ones(1), False),
        (np.array([None]), torch.ones(1), False),
    ],
)
def test_what_is_not_the_same_array(a, b, same):
    assert is_same_array(a, b) is same
    assert is_same_array(a, a) is True


def test_the_same_memory_read_in_another_way():
    x = torch.arange(4.0).reshape(2, 2)
    assert is_same_array(x, x.detach()) and is_same_array(x, x.numpy()) and is_same_array(x.numpy()[:], x)
    assert not is_same_array(x, x.T) and not is_same_array(x, x[0]) and not is_same_array(x, x.view(torch.int32))
    assert not is_same_array(x.numpy()[::-1], x)
    empty = torch.zeros(0)
    assert is_same_array(empty, empty.detach())
