"""What was analysed is freed when its part is done: it is not left to the collector, which is off all the while."""

from __future__ import annotations

import ast
import gc

from chainer2torch.engine import migrate_sources

MODEL = """
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(None, 10)

    def forward(self, x):
        def inner(y):
            return F.relu(y)

        try:
            return F.dropout(inner(self.fc(x)), train=self.train)
        except ValueError as error:
            return Variable(x, volatile=error)


def twice(x, volatile=False):
    return Variable(Variable(x, volatile=volatile), other=3)
"""


def test_no_tree_waits_for_the_collector() -> None:
    migrate_sources({"other.py": MODEL})  # what is made once and stays
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        before = sum(isinstance(one, ast.AST) for one in gc.get_objects())
        results = migrate_sources({"model.py": MODEL, "train.py": "from model import Model\nprint(Model())\n"})
        after = sum(isinstance(one, ast.AST) for one in gc.get_objects())
    finally:
        if enabled:
            gc.enable()
    assert results["model.py"].changed
    assert after - before < 10
