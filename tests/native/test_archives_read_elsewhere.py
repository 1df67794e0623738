"""A file of weights that one program saves and another loads, and of which that one asks NumPy for a shape."""

import pytest

from chainer2torch.engine import Options, migrate_sources

NET = """
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(n, n)
"""
TRAIN = """
import sys
from chainer import serializers
from net import Net

serializers.save_npz(sys.argv[1], Net(3))
"""
APPLY = """
import numpy as np
from chainer import serializers
from net import Net


def main(path):
    n = SIZE
    model = Net(n)
    serializers.load_npz(path, model)
    return model
"""


def migrated(size: str) -> dict[str, str]:
    sources = {"net.py": NET, "train.py": TRAIN, "apply.py": APPLY.replace("SIZE", size)}
    return {name: result.code for name, result in migrate_sources(sources, options=Options(style="native")).items()}


@pytest.mark.parametrize("size", ["np.load(path)['l/W'].shape[0]", "len(np.load(path)['l/b'])"])
def test_both_keep_chainers_kind_of_file(size: str) -> None:
    codes = migrated(size)
    assert "compat.save_npz(" in codes["train.py"] and "compat.load_npz(path, model)" in codes["apply.py"]


@pytest.mark.parametrize("size", ["3", "len(np.load('words.npz')['ids'])"])
def test_without_such_a_question_there_is_a_state_dict(size: str) -> None:
    codes = migrated(size)
    assert "torch.save(" in codes["train.py"] and "model.load_state_dict(" in codes["apply.py"]
