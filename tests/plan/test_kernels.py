"""CUDA kernels that are a formula: written in torch, and run here beside the same formula in NumPy."""

from __future__ import annotations

import ast

import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from chainer2torch.plan.questions.kernel_texts import read_kernel

CASES = {
    "y = w * x / (x + 2)": lambda x, w: w * x / (x + 2),
    "y = x >= 0 ? pow(x + 1, w) - w : (T)(-exp(w * x))": lambda x, w: np.where(
        x >= 0, (abs(x) + 1) ** w - w, -np.exp(w * x)
    ),
    "T z = tanh(x) * (T)0.5; /* halves */ y = z - w; // done": lambda x, w: np.tanh(x) * 0.5 - w,
    "y = x > 0 ? w : x": lambda x, w: np.where(x > 0, w, x),
    "y = x > 0 && x < 1 ? x : 0": lambda x, w: np.where((x > 0) & (x < 1), x, 0),
    "y = x > 1 & w > 0 ? x : (T)0": lambda x, w: np.where((x > 1) & (w > 0), x, 0),
    "y = (x < -1 || x > 1 && x < 2) ? w * x : x": lambda x, w: np.where((x < -1) | ((x > 1) & (x < 2)), w * x, x),
    "T z = x * w; T s = fabs(z) + 1; y = sqrt(s)": lambda x, w: np.sqrt(abs(x * w) + 1),
}


@pytest.mark.parametrize("text", CASES)
def test_a_formula_gives_what_it_says(text: str) -> None:
    kernel = read_kernel(("T x, T w", "T y", text))
    results = kernel.results() if kernel is not None else None
    assert results is not None
    x, w = np.linspace(-2.5, 3, 12).reshape(3, 4), 1.5
    value = eval(ast.unparse(results[0]), {"torch": torch, "x": torch.from_numpy(x), "w": w})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(value.numpy(), CASES[text](x, w), rtol=1e-12)
    assert value.dtype == torch.float64


@pytest.mark.parametrize(
    "texts",
    [
        ("raw T x", "T y", "y = x[i]"),
        ("int32 x", "T y", "y = x / 2"),
        ("T x", "T y", "y = 1 / 2 * x"),  # 0 in C
        ("T x", "T y", "y = x * ((1 + 2) / 2)"),  # 1 in C
        ("T x", "T y", "y = x > 0"),  # of type T in C
        ("T x", "T y", "y = x > 0 ? 1 : -1"),
        ("T x", "T y", "y = (x > 0) + (x > 1)"),
        ("T x, T g", "T y", "y = g * (x > 0)"),
        ("T x", "T y", "y = 0.5"),
        ("T x", "T y", "y = 0; for (int k = 0; k < 3; ++k) { y += x; }"),
        ("T x", "T y", "if (x > 0) { y = x; }"),
        ("T x", "T y", "y = own(x)"),
        ("T x", "T y", "y = i * x"),
        ("T x", "T y, T z", "y = x"),
        ("T x", "T y", "y = x > 0 && x ? x : 0"),
        ("T x", "T y", "y = !(x > 0) ? x : 0"),
        ("T x", "T y", "y = x > 0 ^ x < 1 ? x : 0"),
        ("T x", "T y", "y = (x > 0 && x < 1) * x"),
        ("T x, T w", "T y", "y = x & w ? x : 0"),
        ("T x", "T y", ""),
    ],
)
def test_any_other_kernel_is_not_read(texts: tuple[str, str, str]) -> None:
    assert read_kernel(texts) is None


def _code(*lines: str, head: str = "def f(self, x, w, g):") -> str:
    text = (
        "from chainer import cuda\nimport numpy as np\n\n\n" + head + "\n" + "".join(f"    {line}\n" for line in lines)
    )
    result = migrate_source(text, options=Options(style="native"))
    return str(result.code)


def test_a_kernel_is_an_expression_where_it_is_called() -> None:
    code = _code("return cuda.elementwise('T x, T w', 'T y', 'y = w * (x + 1)', 'n')(x, 1 - self.w)")
    assert "    return (1 - self.w) * (x + 1)\n" in code and "chainer" not in code and "TODO" not in code


def test_several_results_are_lines() -> None:
    made = "cuda.elementwise('T x, T w', 'T y, T z', 'T s = x * x; y = s * w; z = y + s', 'n')"
    code = _code(f"self.y, z = {made}(x, w)", "return z")
    assert "    s = x * x\n    self.y = s * w\n    z = self.y + s\n" in code
    assert "cuda.elementwise" in _code(f"self.y, z = {made}(x, w)", "return s")  # `s` is a name of the program's own
    assert "cuda.elementwise" in _code(f"x, z = {made}(x, w)", "return z")  # `x` would have changed
    assert "cuda.elementwise" in _code(f"return {made}(x, w)")


def test_what_a_kernel_changes_is_changed_in_place() -> None:
    made = "cuda.elementwise('T g, T r', 'T p, T m', 'm += r * (g - m); p -= m', 'n')"
    code = _code(f"{made}(g, self.r, w.data, self.m)")
    assert "    self.m.add_(self.r * (g - self.m))\n    w.data.sub_(self.m)\n" in code


def test_a_kernel_that_copies_is_no_name() -> None:
    assert "cuda.elementwise" in _code("return cuda.elementwise('T x', 'T y', 'y = x', 'n')(x)")


def test_a_kernel_that_is_handed_on_is_a_function() -> None:
    code = _code("div = cuda.elementwise('T x, T e', 'T y', 'y = x / (x + e)', 'n')", "return div(x, w)")
    assert "div = lambda x, e: x / (x + e)\n" in code
    code = _code("return cuda.elementwise('T p, T r', 'T g', 'g += r * p', 'n')")
    assert "return lambda p, r, g: g.add_(r * p)\n" in code


def test_a_function_gets_no_number() -> None:
    line = "return cuda.elementwise('T x, T w', 'T y', 'y = log(w) * x', 'n')(x, {})"
    assert "torch.log(w) * x" in _code(line.format("w"))
    assert "cuda.elementwise" in _code(line.format("self.w")) and "cuda.elementwise" in _code(line.format("2.0"))
