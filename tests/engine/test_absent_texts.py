"""Values that are None for some way through the program, written as text; what abs and a sign leave of a kind."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import numpy as np
import chainer
import chainer.functions as F
v = chainer.Variable(np.ones((2, 3), 'f'))
"""


def code(body):
    return migrate_source(HEAD + body, options=Options(style="native")).code


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("z = None\nif len(v) > 2:\n    z = v.array\nprint(z)\n", "print(compat.to_host(z))"),
        ("z = None if len(v) > 2 else v.array[0, 0]\nprint('%s' % z, z)\n", "'%s' % compat.to_host(z)"),
        ("print(None if len(v) > 2 else v.array)\n", "print(None if len(v) > 2 else v.detach().cpu().numpy())"),
        (
            "def f(x):\n    if x:\n        return 1, None\n    return 2, v.array[0][0]\na, z = f(0)\nprint(a, z)\n",
            "print(a, compat.to_host(z))",
        ),
        ("z = None\nz = v.array\nprint(z)\n", "print(z.cpu().numpy())"),
        (
            "z = None\nfor w in v:\n    if z is None or len(w) > 2:\n        z = w.array\nprint(z)\n",
            "print(z.cpu().numpy())",
        ),
    ],
)
def test_none_is_written_as_it_was(body, line):
    assert line in code(body)


def test_signs_keep_what_both_callers_give():
    text = code(
        "def f(d):\n    return np.max(abs(d), axis=(0, 1)), np.mean(-d, axis=(0, 1))\nf(v.array)\nf(np.ones((2, 3)))\n"
    )
    assert "np.max(compat.to_host(abs(d)), axis=(0, 1)), np.mean(compat.to_host(-d), axis=(0, 1))" in text


def test_an_array_beside_either_is_a_tensor():
    text = code("def f(d):\n    return np.zeros((2, 3), 'f') + 2 * d\nf(v.array)\nf(np.ones((2, 3)))\n")
    assert "torch.as_tensor(np.zeros((2, 3), 'f')) + 2 * d" in text
