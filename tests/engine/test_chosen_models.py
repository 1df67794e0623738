"""`getattr(models, args.arch)(10)`: one of the models of a module, where nothing else can be meant."""

import pytest

from chainer2torch.engine import Options, migrate_sources

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from helpers import shifted

class {name}(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, n)

    def __call__(self, x):
        return F.relu(self.l(shifted(x)))
"""
MAIN = """
import argparse
import chainer
import numpy as np
import models

parser = argparse.ArgumentParser()
parser.add_argument('--arch')
args = parser.parse_args()
model = getattr(models, args.arch)(3)
y = model(np.ones((4, 2), 'f'))
print(y.data.sum())
"""
HELPERS = "def shifted(x):\n    return x + 1\n"


def main(**files):
    texts = {"main.py": MAIN, "helpers.py": HELPERS, **{f.replace("__", "/", 1) + ".py": t for f, t in files.items()}}
    return migrate_sources(texts, options=Options(style="native"))["main.py"].code


@pytest.mark.parametrize(
    "more",
    [
        "",
        "class B(A):\n    pass\n",
        "def make(n):\n    return A(n)\n",
        "def _hidden(x):\n    return x\n",
        "SIZE = 3\n",
    ],
)
def test_a_module_of_models_gives_one_of_them(more):
    code = main(models=NET.format(name="A") + more)
    assert "y = model(torch.as_tensor(np.ones((4, 2), 'f')))" in code, code
    assert "print(y.detach().sum().cpu().numpy())" in code, code


def test_a_package_has_what_it_imports():
    texts = {"models____init__": "from models.a import A\nfrom models.b import B\n"}
    code = main(models__a=NET.format(name="A"), models__b=NET.format(name="B"), **texts)
    assert "y = model(torch.as_tensor(np.ones((4, 2), 'f')))" in code, code


@pytest.mark.parametrize(
    "more",
    [
        "def scaled(x):\n    return x * 2\n",
        "class Other:\n    pass\n",
        "def show(x):\n    print(x)\n",
        "def pair(n):\n    return A(n), 1\n",
    ],
)
def test_anything_else_in_it_may_be_meant(more):
    code = main(models=NET.format(name="A") + more)
    assert "y.detach()" not in code, code
