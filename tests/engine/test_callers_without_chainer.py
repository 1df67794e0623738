"""Who calls a function of the project decides what it gets, whether his file names Chainer or not."""

from __future__ import annotations

from chainer2torch.engine import migrate_sources
from chainer2torch.project.candidates import linked
from tests.support.native_snippets import RULES

SCORES = """
import numpy as np


class Scores(object):
    def __init__(self, x, xp):
        self.xp = xp
        self.x = x

    def table(self, n):
        made = self.xp.ndarray((n, 2), dtype=np.float32)
        made[:] = 1
        return self.xp.zeros((n, 2), dtype=np.float32) + made
"""
WITH = """
import chainer
from scores import Scores


class Net(chainer.Chain):
    def score(self, x):
        return Scores(x, self.xp).table(3)
"""
WITHOUT = """
import numpy as np
import torch
from scores import Scores


def score(x):
    return Scores(x.numpy(), np).table(3)
"""
FILES = {"scores.py": SCORES, "net.py": WITH, "other.py": WITHOUT}


def test_callers_are_read() -> None:
    files = {path: text.encode() for path, text in {**FILES, "alone.py": "import numpy as np\n"}.items()}
    assert linked(files) == set(FILES)
    assert linked({"scores.py": files["scores.py"], "other.py": files["other.py"]}) == set()


def test_a_function_of_both_keeps_its_array_module() -> None:
    alone = migrate_sources({path: FILES[path] for path in ("scores.py", "net.py")}, rules=RULES)
    assert "device=self.device" in alone["scores.py"].code
    results = migrate_sources(FILES, rules=RULES)
    code = results["scores.py"].code
    assert "def __init__(self, x, xp):" in code and "self.xp.empty((n, 2), dtype=np.float32)" in code
    assert results["other.py"].code == WITHOUT


def test_ndarray_of_a_module_that_nobody_knows() -> None:
    """``torch.Tensor((3, 2))`` would hold the numbers 3 and 2."""
    source = """
import chainer
import numpy as np


def table(held):
    return held['xp'].ndarray((3, 2)), held['xp'].ndarray, np.ndarray((3, 2))
"""
    code = migrate_sources({"net.py": source})["net.py"].code
    assert "held['xp'].empty((3, 2)), held['xp'].ndarray, np.ndarray((3, 2))" in code
