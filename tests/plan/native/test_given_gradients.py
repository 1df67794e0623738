"""``y.grad = g`` and ``y.backward()`` are one call of PyTorch's, where both are in plain sight."""

from __future__ import annotations

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import chainer
import chainer.functions as F
import numpy as np


def run(net, x, g):
    y = net(x)
    xp = chainer.backend.get_array_module(x)
"""


def _code(*lines: str, style: str = "native") -> str:
    text = HEAD + "".join(f"    {line}\n" for line in lines)
    return migrate_source(text, options=Options(style=style)).code


def test_the_gradient_is_handed_to_backward() -> None:
    code = _code("y.grad = g", "net.cleargrads()", "y.backward()")
    assert "    y.backward(torch.as_tensor(g))\n" in code and "y.grad" not in code and "compat" not in code
    code = _code("y.grad = F.tanh(y).array", "y.backward()")
    assert "    y.backward(torch.tanh(y).detach())\n" in code
    code = _code("y.grad = g", "y.backward()", "y = net(x)", "y.grad = -g", "y.backward()")
    assert "y.backward(torch.as_tensor(g))" in code and "y.backward(torch.as_tensor(-g))" in code


@pytest.mark.parametrize(
    "lines",
    [
        ("y.grad = g", "y.backward()", "print(y.grad)"),  # somebody asks for it
        ("if g is not None:", "    y.grad = g", "y.backward()"),
        ("y.grad = g", "g += 1", "y.backward()"),
        ("y.grad = g", "y.backward(retain_grad=True)"),
        ("net.y.grad = g", "net.y.backward()"),
    ],
)
def test_elsewhere_it_is_set(lines: tuple[str, ...]) -> None:
    code = _code(*lines)
    assert "compat.set_grad(" in code and "compat.backward(" in code


def test_the_faithful_style_sets_it() -> None:
    assert "compat.set_grad(y, g)" in _code("y.grad = g", "y.backward()", style="faithful")
