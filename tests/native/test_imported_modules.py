"""``try: import cupy as xp`` / ``except ImportError: import numpy as xp``: a device where all uses have a form."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.native_snippets import RULES, migrated, run

CHOSEN = """
from typing import NamedTuple

try:
    import cupy as xp
except ImportError:
    import numpy as xp


class Example(NamedTuple):
    ids: xp.array
    mask: xp.ndarray


def example(n):
    mask = xp.ones(n, dtype=xp.bool_)
    mask[:1] = False
    return Example(xp.arange(n), mask)


class Net(chainer.Chain):
    def forward(self, x: xp.ndarray) -> xp.ndarray:
        found = example(x.shape[1])
        y = F.where(xp.broadcast_to(found.mask, x.shape), x * 2, -xp.inf * xp.ones(x.shape, 'f'))
        return F.softmax(y) + xp.zeros(x.shape, dtype=xp.float32)


def run(xs):
    return Net()(chainer.Variable(xs[0])).array
"""
OTHERS = {
    "another name is bound to it": "xp = anything()\n",
    "one of its functions goes on": "functions = [xp.tanh]\n",
    "it is asked for something": "name = xp.__name__\n",
    "it goes on itself": "modules = [xp]\n",
    "it is imported once more": "def f():\n    import numpy as xp\n    return xp.ones(3)\n",
}


def test_a_module_that_is_chosen_by_an_import_is_a_device():
    theirs, ours, code = run(CHOSEN)
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-6)
    assert "if torch.cuda.is_available():\n    device = torch.device('cuda')\nelse:\n    device = " in code, code
    assert "    ids: torch.Tensor\n    mask: torch.Tensor\n" in code
    assert "cupy" not in code and "array_module" not in code and "TODO" not in code


def test_constants_alone_need_no_device():
    code = migrated(
        "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\n\n\ndtype = xp.float32\n"
    ).code
    assert "try" not in code and "cuda" not in code and "xp" not in code


@pytest.mark.parametrize("name", OTHERS)
def test_a_use_without_a_form_keeps_the_helper(name):
    code = migrated(CHOSEN + OTHERS[name]).code
    assert "xp = compat.array_module('cuda')" in code or "import cupy as xp" in code, code
    assert "device = torch.device('cuda')" not in code


def test_a_second_run_changes_nothing():
    code = migrated(CHOSEN).code
    assert migrate_source(code, rules=RULES).code == code
