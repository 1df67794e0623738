"""``V = chainer.Variable``: a second name for what is called, which goes as an import does."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_sources
from tests.support.native_snippets import HEAD, RULES, migrated, run

PROGRAM = """
from chainer import Variable, cuda
V = Variable
gated = F.dropout
Dense = chainer.links.Linear
dt = np.float32

def forward(x, volatile=False):
    h = V(np.asarray(x, dtype=dt) * 2)
    return gated(F.relu(h), ratio=0.0)

def run(xs):
    np.random.seed(0)
    layer = Dense(2, 3, nobias=True)
    layer.W.array[...] = 0.5
    return [layer(forward(np.ones((1, 2)) * i)).array for i in range(3)]
"""


def test_calls_by_a_second_name_are_those_by_the_first() -> None:
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.detach().numpy())
    assert "V = " not in code and "gated = " not in code and "Dense = " not in code, code
    assert "nn.Linear(2, 3, bias=False)" in code and "torch.from_numpy(" in code, code


@pytest.mark.parametrize(
    ("more", "stays"),
    [
        ("def all_of(xs):\n    return list(map(V, xs))\n", True),
        ("V = None\n", True),
        ("def made(V):\n    return V(1)\n", True),
        ("def named():\n    return globals()['V']\n", True),
        ("def of(module):\n    return module.V\n", True),
        ("def old(x, off):\n    return V(x, volatile=off)\n", False),
    ],
)
def test_a_second_name_that_is_more_than_called_stays(more: str, stays: bool) -> None:
    code = migrated(PROGRAM + more).code
    assert ("\nV = " in code) == stays, code


def test_one_that_another_file_takes_is_its_own_there_or_stays() -> None:
    taker = "import chainer\nfrom short import V\n\ndef f(x):\n    return chainer.functions.relu(V(x))\n"
    for text in (taker, taker.replace("import V", "import *"), taker + "\ndef g(xs):\n    return map(V, xs)\n"):
        results = migrate_sources({"short.py": HEAD + PROGRAM, "taker.py": text}, rules=RULES)
        left = "V(" in results["taker.py"].code or "map(V" in results["taker.py"].code
        assert not left or "\nV = " in results["short.py"].code, results["short.py"].code
