"""A folder without ``__init__.py`` is a package only where Python finds no module of its name: one in a folder that the
script adds to ``sys.path`` comes first.
"""

from chainer2torch.engine import migrate_sources

NET = """
import chainer
import chainer.links as L


class Fcn(chainer.Chain):
    def __init__(self):
        super(Fcn, self).__init__(l=L.Linear(3, 2))
        self.train = False

    def __call__(self, x):
        return self.l(x) if self.train else -self.l(x)
"""
SCRIPT = """
import os
import sys
import chainer

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '.', 'lib'))
from fcn import *


def step(model, x):
    model.train = True
    return model(chainer.Variable(x))


def main(x):
    return step(Fcn(), x)
"""
OTHER = "import chainer\n\nclass Other(chainer.Chain):\n    def __init__(self):\n        self.train = True\n"


def test_what_a_script_adds_is_looked_at_before_a_folder_counts() -> None:
    files = {"cmd/fcn/run.py": SCRIPT, "cmd/fcn/lib/fcn.py": NET, "cmd/other/net.py": OTHER}
    code = migrate_sources(files)["cmd/fcn/run.py"].code
    assert "model.train_ = True" in code and "TODO" not in code, code


def test_a_folder_is_one_where_nothing_else_is_there() -> None:
    files = {"cmd/run.py": SCRIPT.replace("from fcn import *", "from fcn.net import *"), "cmd/fcn/net.py": NET}
    code = migrate_sources(files)["cmd/run.py"].code
    assert "model.train_ = True" in code, code
