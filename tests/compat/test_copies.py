"""Copies of modules that keep what they computed, beside Chainer's own."""

import copy
from typing import Any

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.links import copies as long_form
from chainer2torch.compat.links.copies import copy_object
from chainer2torch.native import copies as short_form
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words
from tests.support.both_sides import both

NET = """
import copy

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 2, initialW=1)
            self.l = L.LSTM(2, 2, lateral_init=0.5, upward_init=0.5)
        self.tags = ['x']
    def __call__(self, x):
        self.h = self.l(self.a(x))
        self.loss = F.sum(self.h)
        return self.loss

def run(m, times):
    for _ in range(times):
        m(np.ones((1, 2), 'f'))
    return m
"""


def both_of(body: str) -> list[Any]:
    return [space["f"]() for space in both(NET + body)]


def test_deepcopy_of_a_model_that_was_called() -> None:
    old, new = both_of("""
def f():
    m = run(Net(), 2)
    m2 = copy.deepcopy(m)
    m2.a.W.array[...] = 3
    m2.tags.append('y')
    with chainer.no_backprop_mode():
        y = m2(np.ones((1, 2), 'f'))
    return [float(m.loss.array), float(y.array), float(m2.loss.array), m.a.W.array.tolist(), m.tags, m2.tags]
""")
    assert old[3:] == new[3:]
    np.testing.assert_allclose(old[:3], new[:3], rtol=1e-6)


def test_the_copy_goes_on_from_a_state_that_was_reset() -> None:
    old, new = both_of("""
def f():
    m2 = copy.deepcopy(run(Net(), 2))
    m2.l.reset_state()
    m2.cleargrads()
    run(m2, 2).loss.backward()
    return m2.a.W.grad.tolist()
""")
    np.testing.assert_allclose(old, new, rtol=1e-5)


def test_copies_of_lists_and_of_links_copy() -> None:
    for body in ("copy.deepcopy([run(Net(), 1)])[0]", "run(Net(), 1).copy(mode='copy')"):
        old, new = both_of(f"def f():\n    m = {body}\n    m.l.reset_state()\n    return float(run(m, 1).loss.array)\n")
        assert old == pytest.approx(new, rel=1e-6)


def test_a_child_of_a_shallow_copy_is_its_own() -> None:
    old, new = both_of("""
def f():
    m = Net()
    m2 = copy.copy(m)
    m2.a.W.array[...] = 3
    m2.a = L.Linear(3, 3)
    return m.a.W.array.tolist(), list(m2.a.W.shape), m2.tags is m.tags, m2.l is m.l
""")
    assert tuple(old) == tuple(new)


def test_no_gradient_goes_on_through_the_graph_of_a_copy() -> None:
    old, new = both_of("""
class Cell(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.x = L.Linear(2, 2, initialW=0.5)
            self.h = L.Linear(2, 2, initialW=0.25)
        self.state = None
    def __call__(self, x):
        y = self.x(x)
        if self.state is not None:
            y += self.h(self.state)
        self.state = F.tanh(y)
        return self.state

def f():
    x = np.ones((1, 2), 'f')
    cell = Cell()
    cell(x)
    other = copy.deepcopy(copy.deepcopy(cell))
    result = []
    for one in (other, cell):
        one.cleargrads()
        F.sum(one(x)).backward()
        result.append([one.x.W.grad.tolist(), one.h.W.grad.tolist()])
    return result
""")
    np.testing.assert_allclose(old, new, rtol=1e-5)
    assert old[0][0] != old[1][0], "the original has its graph"


@pytest.mark.parametrize("form", [long_form, short_form])
def test_copies_of_tensors_and_of_other_objects(form: Any) -> None:
    deepcopy = form.deepcopy
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    first, second = deepcopy((y, y))
    assert first is second and first.tolist() == [2, 2] and first.requires_grad
    assert deepcopy(y.detach()).requires_grad is False
    assert deepcopy({"a": [1, {2}], "b": np.arange(3)})["a"] == [1, {2}]
    shared = [1]
    assert copy_object(shared) == [1] and copy_object(shared) is not shared
    assert copy.deepcopy(chainer.Variable(np.ones(2, "f"))).array.tolist() == [1, 1]


def test_models_that_keep_nothing_are_copied_by_the_copy_module() -> None:
    _, migrated = both("""
import copy
class Q(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 2)
            self.b = L.Linear(2, 2)
    def forward(self, x):
        return self.b(F.relu(self.a(x)))
q = Q()
target = copy.deepcopy(q)
layers = copy.copy([q])
""")
    assert "target = copy.deepcopy(q)" in migrated["__code__"]
    assert "layers = copy.copy([q])" in migrated["__code__"]


class Held:
    """An object of a program's own."""


@pytest.mark.parametrize("form", [long_form, short_form])
def test_where_tensors_with_a_graph_are_found(form: Any) -> None:
    """In modules at any depth, and in their lists, tuples and dicts; the copy shares what was shared."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2)))
    y = net(torch.ones(1, 2))
    net.loss, net[1].states = y.sum(), {"h": [y, (y, None)], "n": np.arange(2)}
    copied = form.deepcopy({"models": [net], "y": y})
    other = copied["models"][0]
    assert other.loss == net.loss and other.loss.requires_grad and other.loss.is_leaf and not net.loss.is_leaf
    h = other[1].states["h"]
    assert h[0] is h[1][0] is copied["y"] and h[0] is not y and torch.equal(h[0], y)
    assert other[0].weight is not net[0].weight and other[0].weight.requires_grad
    other(torch.ones(1, 2)).sum().backward()
    assert net[0].weight.grad is None and other[0].weight.grad is not None


def test_in_objects_of_other_classes_the_short_form_finds_none_and_raises() -> None:
    held = Held()
    held.y = torch.ones(2, requires_grad=True) * 2
    assert long_form.deepcopy(held).y.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="deepcopy"):
        short_form.deepcopy(held)


def test_a_project_with_a_memo_has_the_long_form() -> None:
    texts = ["compat.deepcopy(model)", "def __deepcopy__(self, memo):\n    return compat.deepcopy(self.x, memo)"]
    short, long = (compat_file.build(["deepcopy"], style="native", said=words(text)) for text in texts)
    assert "tree_flatten" in short and "tree_flatten" not in long and short.count("\n") < long.count("\n")
