"""What Chainer's links keep in private attributes, as the native style gives it where it is read."""

import textwrap

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_programs import both

PROGRAM = """
class Own(chainer.Chain):
    def __init__(self, net):
        super().__init__()
        with self.init_scope():
            self.net = net
            self.bn = L.BatchNormalization(2)
            self.scale = chainer.Parameter(np.ones(2, 'f'))
        self.add_persistent('seen', np.zeros(3, 'f'))
        self.plain = 5

    def inner(self):
        return sorted(self._children), sorted(self._params), 'seen' in self._persistent, 'bn' in self.__dict__


class Stack(chainer.ChainList):
    pass


def namedchildren(link):
    if isinstance(link, chainer.Chain):
        for name in sorted(link._children):
            yield name, link.__dict__[name]
    elif isinstance(link, chainer.ChainList):
        for i, child in enumerate(link._children):
            yield str(i), child


def namedpersistent(link):
    d = link.__dict__
    for name in sorted(link._persistent):
        yield '/' + name, d[name]
    for name, child in namedchildren(link):
        for path, value in namedpersistent(child):
            yield '/' + name + path, value


def zeroed(link):
    for name in list(link._params):
        d = link.__dict__
        d[name].array[...] = 0
    return link


def run():
    model = Own(Net())
    model.stack = Stack(L.Linear(2, 2), L.BatchNormalization(3))
    with model.init_scope():
        model.last = Stack(L.Linear(2, 2), L.BatchNormalization(3))
    names = [(path, np.shape(value)) for path, value in namedpersistent(model)]
    copied = model.bn._persistent.copy()
    zeroed(model.bn)
    zeroed(model.net.l1)
    found = model.__dict__.get('plain'), model.__dict__.get('nothing', 3)
    sums = float(model.bn.gamma.array.sum()), float(model.net.l1.W.array.sum()), float(model.net.l2.b.array.sum())
    return model.inner(), names, sorted(copied), sorted(model.net.l1._params), found, sums
"""


def test_names_and_values_are_those_of_chainer() -> None:
    theirs, ours, code = both(PROGRAM)
    assert ours["run"]() == theirs["run"](), code
    assert "compat.inner_names(link, '_persistent')" in code and "TODO" not in code


@pytest.mark.parametrize(
    "line",
    [
        "self._children.add('x')",
        "self._persistent.discard('x')",
        "self._children[0] = x",
        "del self.__dict__['l']",
        "kept = self._params; kept.add('x')",
        "return self.__dict__",
        "self.__dict__.update(x=3)",
    ],
)
def test_what_changes_them_is_for_a_person(line: str) -> None:
    text = textwrap.dedent(f"""
        import chainer

        class Net(chainer.Chain):
            def f(self, x):
                {line}
        """)
    result = migrate_source(text, options=Options(style="native"))
    assert "manual" in [site.state for site in result.sites] and "inner_" not in result.code, result.code


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("def walk(link):\n    return hasattr(link, '_children') and 1\n", ["review"]),
        ("def walk(link):\n    return getattr(link, '_params')\n", ["review"]),
        ("print(hasattr(chainer.Chain(), '_children'))\n", ["manual"]),
        ("class Tree(object):\n    _children = ()\n    def __init__(self):\n        self._children = []\n"
         "def walk(node):\n    return hasattr(node, '_children')\n", []),
    ],
)  # fmt: skip
def test_who_asks_for_it_by_name_is_told_that_a_module_has_none(text, states):
    result = migrate_source("import chainer\n" + text, options=Options(style="native"))
    found = [site.state for site in result.sites if "._children" in site.symbol or "._params" in site.symbol]
    assert found == states, result.code
