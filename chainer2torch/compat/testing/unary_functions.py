"""The tests that Chainer makes of a function of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from .gradient_check import check_backward, check_double_backward
from .testing import assert_allclose, parameterize, product


def unary_math_function_unittest(
    func: Callable[[Any], Any],
    func_expected: Callable[..., Any] | None = None,
    label_expected: str | None = None,
    make_data: Callable[..., Any] | None = None,
    is_linear: bool | None = None,
    forward_options: dict[str, Any] | None = None,
    backward_options: dict[str, Any] | None = None,
    double_backward_options: dict[str, Any] | None = None,
) -> Callable[[Any], Any]:
    """Class decorator: tests of ``func`` forward, backward and twice backward, for two shapes and three dtypes.

    Args:
        func_expected: NumPy's function; by default the one of the same name.
        label_expected: not asked, as functions of PyTorch have no labels.
        make_data: of a shape and a dtype the input, the gradient and the second gradient, as arrays.
        is_linear: True: the square of ``func`` is what is checked twice backward.
        forward_options, backward_options, double_backward_options: keywords of the three checks.
    Raises:
        ValueError: NumPy has no function of that name.
    Source: chainer.testing.unary_math_function_unittest.
    """
    name = getattr(func, "__name__", type(func).__name__.lower())
    expected = func_expected or getattr(np, name, None)
    if expected is None:
        raise ValueError(f"NumPy has no function that is called {name}")
    given = (forward_options, backward_options, double_backward_options)

    def set_up(self: Any) -> None:
        data = (make_data or _three_arrays)(self.shape, self.dtype)
        self.x, self.gy, self.ggx = (*data, None)[:3]
        half = self.dtype == np.float16
        one = {"atol": np.finfo("e").eps, "rtol": np.finfo("e").eps} if half else {"atol": 1e-4, "rtol": 1e-4}
        two = {"eps": 2**-4, "atol": 2**-4, "rtol": 2**-4} if half else {"atol": 1e-4, "rtol": 1e-4}
        kept = [one, {**two, "dtype": np.float64}, {**two, "dtype": np.float64}]
        self.forward_options, self.backward_options, self.double_backward_options = (
            {**options, **(more or {})} for options, more in zip(kept, given)
        )

    def forward(self: Any, device: str) -> None:
        y = func(torch.as_tensor(self.x, device=device))
        assert y.dtype == torch.as_tensor(self.x).dtype
        assert_allclose(expected(self.x, dtype=self.x.dtype), y, **self.forward_options)

    def backward(self: Any, device: str) -> None:
        x, gy = (torch.as_tensor(a, device=device) for a in (self.x, self.gy))
        check_backward(func, x, gy, **self.backward_options)

    def double_backward(self: Any, device: str) -> None:
        x, gy, ggx = (torch.as_tensor(a, device=device) for a in (self.x, self.gy, self.ggx))
        checked = (lambda x: func(x) ** 2) if is_linear else func
        check_double_backward(checked, x, gy, ggx, **self.double_backward_options)

    def decorate(case: Any) -> Any:
        case.setUp = set_up
        for check in (forward, backward, double_backward):
            setattr(case, f"test_{check.__name__}_cpu", _on(check, "cpu"))
            setattr(case, f"test_{check.__name__}_gpu", pytest.mark.gpu(_on(check, "cuda")))
        dtypes = [np.float16, np.float32, np.float64]
        return parameterize(*product({"shape": [(3, 2), ()], "dtype": dtypes}))(case)

    return decorate


def _on(check: Callable[..., None], device: str) -> Callable[[Any], None]:
    def test(self: Any) -> None:
        check(self, device)

    return test


def _three_arrays(shape: Any, dtype: Any) -> Any:
    return [np.random.uniform(-1, 1, shape).astype(dtype) for _ in range(3)]


__all__ = ["unary_math_function_unittest"]
