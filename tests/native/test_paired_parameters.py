"""Walks over the parameters of two models: averages and copies whose order and names nobody sees."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import HEAD, both

HEADER = (
    HEAD
    + """
class Two(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.z = Net()
            self.a = L.BatchNormalization(2)


def filled(start):
    model = Two()
    for i, name in enumerate(['/a/beta', '/a/gamma', '/z/l1/W', '/z/l1/b', '/z/l2/W', '/z/l2/b']):
        dict(model.namedparams())[name].array[...] = start + i
    return model


def values(model):
    return [float(model.a.beta.array.sum()), float(model.a.gamma.array.sum()), float(model.z.l1.W.array.sum()),
            float(model.z.l1.b.array.sum()), float(model.z.l2.W.array.sum()), float(model.z.l2.b.array.sum())]


def run():
    model, target = filled(1), filled(20)
    tau = 0.25
"""
)
PLAIN = {
    "for p, q in zip(model.params(), target.params()):\n    q.data = tau * p.data + (1 - tau) * q.data": (),
    "for p, q in zip(model.params(), target.params()):\n    q.array[...] = p.array": (),
    "ps, qs = model, target\na = dict(ps.namedparams())\nb = dict(qs.namedparams())\nfor name in b:\n"
    "    b[name].data = tau * a[name].data + (1 - tau) * b[name].data": (),
    "a = dict(model.namedparams())\nfor name, q in dict(target.namedparams()).items():\n"
    "    q.data = a[name].data": "named",
    "a = dict(model.namedparams())\nb = dict(target.namedparams())\nfor name, q in b.items():\n"
    "    q.data = a[name].data": (),
    "for name, p in model.namedparams():\n    for other, q in target.namedparams():\n        if name == other:\n"
    "            new = tau * p.data + (1 - tau) * q.data\n            q.data = new": (),
    "for name, q in target.namedparams():\n    q.data = q.data.clip(-21, 21)": (),
}


def _program(text):
    lines = "".join(f"    {line}\n" for line in text.split("\n"))
    return f"{HEADER}{lines}    return values(model) + values(target)\n"


@pytest.mark.parametrize("text", PLAIN)
def test_values(text):
    theirs, ours, code = both(_program(text), "")
    assert np.allclose(ours["run"](), theirs["run"]())
    loop = code.partition("def run")[2]
    assert ("compat." in loop) == (PLAIN[text] == "named"), loop


@pytest.mark.parametrize(
    "text",
    [
        "for name, q in target.namedparams():\n    print(q.data.shape)",
        "for name, q in target.namedparams():\n    seen.add(name)",
        "last = None\nfor name, q in target.namedparams():\n    q.data = last.data if last else 0\n    last = q",
        "b = dict(target.namedparams())\nfor name in b:\n    print(b[name].shape)",
        "b = dict(target.namedparams())\nuse(b)",
        "b = dict(target.namedparams())\nb['/a/beta'].data = 0",
        "for n, p in model.namedparams():\n    for m, q in target.namedparams():\n        q.data = q.data * 2 + p.data",
        "for p, q in zip(model.params(), other.params()):\n    q.data = p.data",
        "for p, q in zip(model.params(), model.z.params()):\n    q.data = p.data",
        "for p, q in zip(model.params(), target.params()):\n    print(p.data.shape)",
        "for p, q in zip(model.params(), values):\n    p.data[...] = q",
    ],
)
def test_whose_order_or_names_are_seen(text):
    code = migrate_source(_program(text), options=Options(style="native")).code
    loop = code.partition("def run")[2]
    assert "named_parameters()" not in loop and ".parameters()" not in loop, loop


SOFT = "for p, q in zip(model.params(), target.params()):\n    q.array[...] = p.array"
BESIDE = {
    # no links: what they call `params`, and what they keep, is held by no model
    "class Action:\n    @property\n    def params(self):\n        return []\n": True,
    "class Agent(object):\n    def __init__(self, net):\n        self.net = net\n        self.layer = self.net.z\n"
    "Agent(Two())\n": True,
    # an own link without a scope there: Chainer does not register the second name
    "class Head(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n        with self.init_scope():\n"
    "            self.two = Two()\n        self.z = self.two.z\nHead()\n": True,
    "class Head(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n        with self.init_scope():\n"
    "            self.two = Two()\n            self.z = self.two.z\nHead()\n": False,
    "class Head(chainer.Chain):\n    def params(self, include_uninit=True):\n        return iter([])\n": False,
    "class Part:\n    def params(self, include_uninit=True):\n        return iter([])\n"
    "class Head(Part, chainer.Chain):\n    pass\n": False,
    "class Part(made_elsewhere()):\n    def params(self, include_uninit=True):\n        return iter([])\n": False,
}


@pytest.mark.parametrize("beside", BESIDE)
def test_what_is_no_link_does_not_hold_parameters(beside):
    head, _, rest = _program(SOFT).partition("def filled")
    made = "def made_elsewhere():\n    return __import__('collections').UserDict\n\n\n"
    theirs, ours, code = both(f"{head}{made}{beside}\n\ndef filled{rest}", "")
    assert np.allclose(ours["run"](), theirs["run"]())
    assert (".parameters()" in code.partition("def run")[2]) == BESIDE[beside], code
