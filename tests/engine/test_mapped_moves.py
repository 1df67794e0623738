"""``map(cuda.to_gpu, data)`` in the native style: a comprehension where all that is moved is known to be an array."""

import textwrap

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import numpy as np
import chainer.functions as F
from chainer import cuda

def data():
    return np.ones((2, 3), 'f'), np.zeros((2, 2), 'f')

"""


def body(statements: str) -> str:
    source = HEAD + "def f(unknown):\n" + textwrap.indent(textwrap.dedent(statements).strip(), "    ") + "\n"
    result = migrate_source(source, options=Options(style="native"))
    assert result.error is None
    return textwrap.dedent(result.code.split("def f(unknown):\n")[1]).strip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a, b = map(cuda.to_gpu, data())", "a, b = [torch.as_tensor(item, device='cuda') for item in data()]"),
        ("return list(map(cuda.to_gpu, data()))", "return [torch.as_tensor(item, device='cuda') for item in data()]"),
        ("unknown(*map(cuda.to_gpu, data()))", "unknown(*[torch.as_tensor(item, device='cuda') for item in data()])"),
        ("return map(cuda.to_gpu, data())", "return (torch.as_tensor(item, device='cuda') for item in data())"),
        ("moved = map(cuda.to_gpu, data())", "moved = (torch.as_tensor(item, device='cuda') for item in data())"),
    ],
)
def test_arrays(before: str, after: str) -> None:
    assert body(before) == after


@pytest.mark.parametrize(
    "items",
    ["unknown", "[np.ones(3), unknown]", "[np.ones(3)[::-1]]", "[np.ones(3), [np.ones(3)]]", "*unknown"],
    ids=["unknown", "one unknown", "backwards", "a list in it", "starred"],
)
def test_what_may_be_something_else(items: str) -> None:
    """A list is moved item by item, None stays, and PyTorch takes no array that runs backwards: the helper asks."""
    assert "map(compat.to_gpu" in body(f"return list(map(cuda.to_gpu, {items}))")


def test_what_is_moved_is_known_behind_it() -> None:
    """Of two functions that hand arrays on, one moves them: both hand over arrays, which become tensors."""
    found = body("""
        def check(x, y):
            return F.relu(x), F.sum(y)
        def on_host():
            x, y = data()
            return check(x, y)
        def on_device():
            x, y = map(cuda.to_gpu, data())
            return check(x, y)
        return on_host, on_device
    """)
    assert "return F.relu(torch.as_tensor(x)), torch.sum(torch.as_tensor(y))" in found
