"""Arrays that a method starts with a module of either kind, and that meet links and tensors in another method."""

import sys
from unittest import mock

import chainer
import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import helpers

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer.backends import cuda


class Core(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(8, 4, initialW=0.5)

    def __call__(self, h, x):
        return F.tanh(self.l(F.concat((h, x))))


class Net:
    def __init__(self):
        self.core = Core()

    START

    def run(self, x):
        xp = cuda.get_array_module(x)
        TAKE
        for _ in range(3):
            h = self.core(h, x)
            u = u + h
        return u


def run():
    net = Net()
    x = np.ones((2, 4), 'f')
    return [net.run(x).array, net.run(chainer.Variable(x)).array]
"""
ONE = "def start(self, n, xp):\n        return xp.zeros((n, 4), dtype='float32')"
NAMED = "def start(self, n, xp):\n        h = xp.ones((n, 4), dtype='float32')\n        return h"
TWO = "def start(self, n, xp):\n        h = xp.ones((n, 4), 'f')\n        return h, xp.zeros((n, 4), 'f')"
SHOWN = "def start(self, n, xp):\n        return xp.ones((n, 4), 'f'), xp.zeros((n, 4), dtype='f')"
EACH = "h = self.start(2, xp)\n        u = self.start(2, xp)"
BOTH = "h, u = self.start(2, xp)"
UNSEEN = "\n\n    def uncalled(self, xp):\n        return self.start(2, xp)"  # what gives `xp` here nobody knows
CASES = [(ONE, EACH), (NAMED, EACH), (TWO, BOTH), (SHOWN, BOTH), (NAMED + UNSEEN, EACH), (TWO + UNSEEN, BOTH)]


@pytest.mark.parametrize(("start", "take"), CASES)
def test_links_take_what_a_method_started(start, take):
    source = PROGRAM.replace("START", start).replace("TAKE", take)
    result = migrate_source(source, options=Options(style="native"))
    assert result.error is None and not [s for s in result.sites if s.state in ("manual", "review")], result.code
    theirs, ours = {"__name__": "original"}, {"__name__": "migrated"}
    with mock.patch.dict(sys.modules, chainer_compat=helpers(result)), chainer.using_config("train", True):
        exec(source, theirs)
        exec(result.code, ours)
        for expected, found in zip(theirs["run"](), ours["run"]()):
            np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6, err_msg=result.code)
