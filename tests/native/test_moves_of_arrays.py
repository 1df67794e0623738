"""``if isinstance(x, numpy.ndarray): x = to_gpu(x)``: a test that does nothing but move asks nobody anything."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = "import numpy as np\nfrom chainer import cuda\nimport chainer\n\n\n"


def _migrated(text):
    return migrate_source(HEAD + text, options=Options(style="native"))


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    if isinstance(x, np.ndarray):\n        return cuda.to_gpu(x)\n    return x\n",
        "def f(x):\n    if isinstance(x, np.ndarray):\n        x = cuda.to_gpu(x)\n    return x\n",
        "def f(x):\n    return cuda.to_gpu(x) if isinstance(x, np.ndarray) else x\n",
        "def f(x):\n    if not isinstance(x, np.ndarray):\n        return x\n    return cuda.to_gpu(x)\n",
    ],
)
def test_what_is_moved_alone(text):
    result = _migrated(text)
    assert "C2T320" not in result.code and "torch.Tensor)" in result.code
    assert [s.state for s in result.sites if s.symbol == "numpy.ndarray"] == ["review"]  # the report has it


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    if isinstance(x, np.ndarray):\n        return cuda.to_gpu(x + 1)\n    return x\n",
        "def f(x):\n    if isinstance(x, np.ndarray):\n        return cuda.to_gpu(x)\n    return x.array\n",
        "def f(x):\n    if isinstance(x, np.ndarray):\n        print(0)\n        x = cuda.to_gpu(x)\n    return x\n",
        "def f(x):\n    if isinstance(x, np.ndarray):\n        return x.astype('f')\n    return x\n",
        "def f(x):\n    if isinstance(x, np.ndarray):\n        x = g(cuda.to_gpu(x))\n    return x\n",
    ],
)
def test_what_else_is_done_is_asked(text):
    assert "C2T320" in _migrated(text).code
