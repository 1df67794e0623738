"""Copies of what nobody knows are links where they become children of one, and conditions of what either side made."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import json
import chainer.links as L


class Copies(chainer.Chain):
    def __init__(self, module, n):
        super().__init__()
        {made}

    def __call__(self, x):
        return sum(part(x) for part in self.parts)


def run(xs):
    held = {{'module': L.Linear(2, 3), **json.loads('{{}}')}}
    net = Copies(held['module'], 2)
    for _, p in sorted(held['module'].namedparams()):
        p.data[...] = 2
    return [net(xs[0]), len(list(net.children()))]
"""
CHILDREN = [
    "with self.init_scope():\n            self.parts = chainer.ChainList(*[module.copy() for _ in range(n)])",
    "made = [module.copy() for _ in range(n)]\n        with self.init_scope():\n"
    "            self.parts = chainer.ChainList(*made)",
    "one = module.copy()\n        with self.init_scope():\n"
    "            self.parts = chainer.ChainList(one, module.copy())",
    "with self.init_scope():\n            self.parts = chainer.ChainList()\n        self.parts.add_link(module.copy())",
    "with self.init_scope():\n            self.one = module.copy()\n        self.parts = (self.one,)",
]


@pytest.mark.parametrize("made", CHILDREN)
def test_copies_that_become_children(made: str) -> None:
    theirs, ours, code = run(PROGRAM.format(made=made))
    assert ".copy()" not in code
    np.testing.assert_allclose(ours[0].detach().numpy(), theirs[0].array, rtol=1e-6)  # they share their arrays
    assert theirs[1] == ours[1] == 1


@pytest.mark.parametrize("made", ["self.parts = module.copy()", "self.parts = [module.copy()]"])
def test_other_copies_stay(made: str) -> None:
    assert (
        "module.copy()" in migrated(PROGRAM.format(made=made).replace("module': L.Linear(2, 3), **", "a': 1, **")).code
    )


CONDITIONS = """
import json


def chosen(x, y):
    xp = chainer.backend.get_array_module(x)
    x = xp.repeat(xp.expand_dims(x, 2), 2, 2)
    mask = x > 0.2
    y = F.expand_dims(y, 2)
    return F.where({condition}, y * 3, y * 2)


class Net(chainer.Chain):
    def __call__(self, x):
        return chosen(x, x)


def run(xs):
    rows = np.linspace(0, 1, 6).reshape(2, 3).astype('f')
    return [chosen(rows, np.ones((2, 3), 'f')), Net()(xs[0])]
"""


@pytest.mark.parametrize("condition", ["x < 0.5", "mask", "~mask", "xp.logical_and(x > 0.2, mask)"])
def test_conditions_of_either_kind(condition: str) -> None:
    theirs, ours, _ = run(CONDITIONS.format(condition=condition))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(other.detach().numpy(), one.array, rtol=1e-6)
