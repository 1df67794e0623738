"""``cupy.ndarray(shape, dtype)`` makes an array: ``torch.Tensor(shape)`` would hold the numbers of its shape."""

import ast

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = "import numpy as np\nimport cupy as xp\nimport chainer\nfrom chainer import cuda\n\n\ndef make(n):\n"
CALLS = ("xp.ndarray((n, 3), dtype=np.int32)", "xp.ndarray((n, 3))", "cuda.cupy.ndarray(shape=(n, 3), dtype='f')")
STYLES = ("native", "faithful")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("call", CALLS)
def test_called_it_is_empty_in_the_first_run_and_the_second(call, style):
    first = migrate_source(f"{HEAD}    return chainer.Variable({call})\n", options=Options(style=style)).code
    calls = [n for n in ast.walk(ast.parse(first)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    assert "empty" in {n.func.attr for n in calls} and ".ndarray(" not in first, first
    assert migrate_source(first, options=Options(style=style)).code == first


@pytest.mark.parametrize("style", STYLES)
def test_as_a_class_it_asks_for_an_array_of_a_device(style):
    code = migrate_source(f"{HEAD}    return isinstance(n, xp.ndarray)\n", options=Options(style=style)).code
    assert "isinstance(n, compat.CudaArray)" in code or "isinstance(n, torch.Tensor) and n.is_cuda" in code, code
