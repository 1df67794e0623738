"""Loops over the children of a chain that ask each for its name: ``named_children()`` gives both, in order."""

import pytest

from tests.support.native_snippets import migrated, run

NET = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.c10 = L.Linear(2, 3, initialW=n)
            self.c9 = L.Linear(2, 3, initialW=n + 1)
            self.b = L.Linear(2, n)

    def init_from(self, other):
        told = []
        for layer in self.children():
            if layer.name.startswith('c'):
                layer.W.data[...] = getattr(other, layer.name).W.data
            told.append(layer.name)
        return told


def copied(src, dst):
    assert isinstance(src, chainer.Chain)
    told = []
    for child in src.children():
        if child.name not in dst.__dict__:
            continue
        dst_child = dst[child.name]
        told.append('%s %s' % (child.name, type(child) is type(dst_child)))
    return told


def run(xs):
    net, other = Net(3), Net(4)
    told = net.init_from(other)
    name = None
    return told, copied(net, other), net.c9.W.array.tolist(), net.c10.W.array.tolist(), name
"""


def test_the_names_come_with_the_children_in_chainers_order() -> None:
    theirs, ours, code = run(NET)
    assert ours == theirs and theirs[0] == ["b", "c10", "c9"] and len(theirs[1]) == 3
    assert "for layer_name, layer in sorted(self.named_children()):" in code  # `name` is taken
    assert "for child_name, child in sorted(src.named_children()):" in code
    assert "compat.child_name" not in code and "compat.children" not in code


def walk(body, model="chainer.Chain", head=""):
    text = (
        f"import chainer\n\n\nclass Net({model}):\n    pass\n\n\ndef f():\n    net = Net()\n{head}"
        f"    for child in net.children():\n        {body}\n"
    )
    return migrated(text).code


def test_one_line() -> None:
    assert "for name, child in sorted(net.named_children()):\n        print(name, child)" in walk(
        "print(child.name, child)"
    )


@pytest.mark.parametrize(
    ("body", "model"),
    [
        ("print(child.name)", "chainer.ChainList"),  # counted: 10 comes behind 9
        ("print(child.name)", "chainer.Sequential"),
        ("child = net.c; print(child.name)", "chainer.Chain"),  # another link
        ("child.name = 'a'; print(child.name)", "chainer.Chain"),
        ("net.other = child; print(child.name)", "chainer.Chain"),
        ("print(child)", "chainer.Chain"),
    ],
)
def test_other_walks_stay_as_they_were(body, model) -> None:
    assert "named_children" not in walk(body, model)


def test_a_child_with_two_names_comes_twice_in_chainer() -> None:
    text = """
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(2, 3)
            self.b = self.a


def f():
    net = Net()
    opt = chainer.optimizers.SGD()
    opt.setup(net)
    for child in net.children():
        print(child.name)
"""
    assert "named_children" not in migrated(text).code


def test_what_is_asserted_of_a_name_that_changes_says_nothing() -> None:
    text = """
import chainer


def f(src):
    assert isinstance(src, chainer.Chain)
    src = src[0]
    for child in src.children():
        print(child.name)


f(chainer.Chain())
"""
    assert "named_children" not in migrated(text).code
