"""``np.empty(shape, dtype=img.dtype)`` of an unknown ``img`` that is put into it: equal of an array, else it raises.

What such a function does not show to be an array of NumPy has the helper, which takes tensors as well.
"""

import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

HEAD = "import chainer\nimport numpy as np\n\n\n"
EXPAND = """
    out = np.empty((3, 4, 4), dtype=a.dtype)
    out[:] = np.array(0.5).reshape((-1, 1, 1))
    out[:, 1:3, :2] = a
    return out
"""
CROP = """
    out = np.zeros((3, 4, 4), a.dtype)
    part = a[:, :1]
    out[:, 2:3, :2] = part
    return out
"""
LISTED = """
    return np.array([2 - a[0], a[1]], dtype=a.dtype).transpose()
"""
TURNED = """
    turn = np.array([[0, -1], [1, 0]], dtype=a.dtype).transpose()
    a = a @ turn
    return a
"""


def migrated(body):
    code = migrate_source(f"{HEAD}def f(a):{body}", rules=load_rules(style="native")).code
    return code


@pytest.mark.parametrize("body", [EXPAND, CROP, LISTED, TURNED])
@pytest.mark.parametrize("dtype", ["f", "d", "i"])
def test_the_dtype_stays_and_a_tensor_raises(body, dtype):
    code = migrated(body)
    assert "a.dtype)" in code and "numpy_dtype" not in code
    space: dict = {}
    exec(compile(code, "migrated", "exec"), space)
    exec(compile(f"import numpy as np\n\n\ndef given(a):{body}", "given", "exec"), space)
    value = np.arange(12).reshape(3, 2, 2).astype(dtype)
    assert np.array_equal(space["f"](value), space["given"](value))
    assert space["f"](value).dtype == space["given"](value).dtype
    with pytest.raises(TypeError):
        space["f"](torch.as_tensor(value))


@pytest.mark.parametrize(
    "body",
    [
        "\n    return np.zeros(a.shape, a.dtype)\n",
        "\n    out = np.zeros(3, a.dtype)\n    out[:] = a.shape\n    return out\n",
        "\n    out = np.zeros(3, a.data.dtype)\n    out[:] = a.data\n    return out\n",
        "\n    a = a.data\n    out = np.zeros(3, a.dtype)\n    other = out * 2\n    return a, other\n",
    ],
)
def test_what_nothing_shows_to_be_an_array_has_the_helper(body):
    assert "compat.numpy_dtype(" in migrated(body)


def test_what_is_a_tensor_for_a_caller_has_the_helper():
    code = migrated(EXPAND + "\n\ndef g(x):\n    return f(chainer.functions.relu(x).data)\n")
    assert "compat.numpy_dtype(a.dtype)" in code


@pytest.mark.parametrize(
    "caller",
    [
        "def g(x):\n    xp = chainer.backend.get_array_module(x)\n    return f(xp.broadcast_arrays(x, x)[0])\n",
        "class G(chainer.FunctionNode):\n    def forward(self, inputs):\n        return f(inputs[0][0].base),\n",
        "class G(chainer.Chain):\n    def predict(self, x):\n        return f(x.other)\n",
        "def g(x, other):\n    return f(other), chainer.functions.relu(x).data + other\n",
    ],
)
def test_what_is_called_where_tensors_are_has_the_helper(caller):
    assert "compat.numpy_dtype(a.dtype)" in migrated(f"{EXPAND}\n\n{caller}")


def test_a_function_that_has_tensors_itself_has_the_helper():
    body = EXPAND.replace("return out", "h = chainer.Variable(out)\n    return out, h")
    assert "compat.numpy_dtype(a.dtype)" in migrated(body)
