"""Mathematical functions that PyTorch lacks, or whose ties, axes or checks differ."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from chainer2torch.compat.functions.checks import _check_same


def identity(*inputs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Returns its argument, or the tuple of all of them when there are several. Source: chainer.functions.identity."""
    return inputs[0] if len(inputs) == 1 else inputs


def add(*xs: torch.Tensor | float) -> torch.Tensor:
    """Returns the sum of all arguments, with broadcasting. Source: chainer.functions.add.

    With two arguments the second may be a number or an array of another dtype: the result has the dtype of the first.
    """
    first, *others = xs
    assert isinstance(first, torch.Tensor)
    y = first
    for x in others:
        if isinstance(x, torch.Tensor) and len(xs) == 2:
            x = x.to(first.dtype)
        elif isinstance(x, torch.Tensor) and x.dtype != first.dtype:
            raise TypeError(f"add: dtypes must be equal, not {first.dtype} and {x.dtype}")
        y = y + x
    return y


def maximum(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Returns the larger of two tensors, element by element, with broadcasting. Source: chainer.functions.maximum.

    Where they are equal the first gets the whole gradient; ``torch.maximum`` gives half to each. NaN wins.

    Raises:
        TypeError: The dtypes differ.
    """
    _check_dtypes("maximum", x1, x2)
    return torch.where((x1 >= x2) | x1.isnan(), x1, x2)


def minimum(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Returns the smaller of two tensors, element by element, with broadcasting. Source: chainer.functions.minimum.

    Where they are equal the first gets the whole gradient; ``torch.minimum`` gives half to each. NaN wins.

    Raises:
        TypeError: The dtypes differ.
    """
    _check_dtypes("minimum", x1, x2)
    return torch.where((x1 <= x2) | x1.isnan(), x1, x2)


def clip(x: torch.Tensor, x_min: float | None, x_max: float | None) -> torch.Tensor:
    """Returns ``x`` limited to the range from ``x_min`` to ``x_max``, of which one may be None.

    Source: chainer.functions.clip. Where the bounds are reversed ``torch.clamp`` returns the upper one in silence.

    Raises:
        ValueError: Both bounds are None, or the lower one is not less than the upper one.
    """
    if x_min is not None and x_max is not None and x_min >= x_max:
        raise ValueError("x_min must be less than x_max")
    if x_min is None and x_max is None:
        raise ValueError("x_min and x_max must not both be None")
    return torch.clamp(x, min=x_min, max=x_max)


def bias(x: torch.Tensor, y: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Returns ``x + y``, the axes of ``y`` being those of ``x`` from ``axis`` on. Source: chainer.functions.bias."""
    return x + _spread_over(x, y, axis)


def scale(x: torch.Tensor, y: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Returns ``x * y``, the axes of ``y`` being those of ``x`` from ``axis`` on. Source: chainer.functions.scale."""
    return x * _spread_over(x, y, axis)


def _spread_over(x: torch.Tensor, y: torch.Tensor, axis: int) -> torch.Tensor:
    """Returns `y` spread to the shape of `x`; raises where it does not fit, or when the dtypes differ."""
    _check_dtypes("bias or scale", x, y)
    shape = [1] * axis + list(y.shape) + [1] * (x.ndim - axis - y.ndim)
    return y.reshape(shape).expand(x.shape)


def linear_interpolate(p: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns ``p * x + (1 - p) * y``. Source: chainer.functions.linear_interpolate.

    Raises:
        ValueError: The shapes differ (Chainer does not broadcast here).
        TypeError: The dtypes differ.
    """
    _check_same("linear_interpolate", p, x, y)
    return p * x + (1 - p) * y


def matmul(a: torch.Tensor, b: torch.Tensor, transa: bool = False, transb: bool = False) -> torch.Tensor:
    """Returns the (batched) matrix product; a flag swaps the last two axes of that operand first.

    A flag has no effect on a vector. Source: chainer.functions.matmul.
    """
    if transa and a.ndim != 1:
        a = a.transpose(-1, -2)
    if transb and b.ndim != 1:
        b = b.transpose(-1, -2)
    return torch.matmul(a, b)


def matmul_of_columns(a: torch.Tensor, b: torch.Tensor, transa: bool = False, transb: bool = False) -> torch.Tensor:
    """Returns the product of two matrices, of which a vector of n elements is one of shape (n, 1); a flag transposes.

    Source: chainer.functions.matmul of Chainer's version 1.
    """
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    return torch.matmul(a.T if transa else a, b.T if transb else b)


def det(a: torch.Tensor) -> torch.Tensor:
    """Returns the determinant of one matrix, which may have axes of length 1 behind it. Source: chainer.functions.det.

    Args:
        a: Tensor of shape (n, n), or (n, n, 1, ...).
    """
    return torch.linalg.det(torch.flatten(a, 1))  # type: ignore[no-any-return]


def batch_matmul(a: torch.Tensor, b: torch.Tensor, transa: bool = False, transb: bool = False) -> torch.Tensor:
    """Returns the products of a batch of matrices; a tensor with two axes is a batch of column vectors.

    Source: chainer.functions.batch_matmul (which is for float32 alone). The result always has three axes.

    Args:
        a: Tensor of shape (batch, m, k) or (batch, m).
        b: Tensor of shape (batch, k, n) or (batch, k).
        transa: Swap the last two axes of every matrix of ``a``.
        transb: Swap the last two axes of every matrix of ``b``.
    """
    for x in (a, b):
        if x.ndim not in (2, 3):
            raise ValueError(f"batch_matmul: two or three axes are needed, not {x.ndim}")
    a = a.reshape(a.shape[0], a.shape[1], -1)
    b = b.reshape(b.shape[0], b.shape[1], -1)
    return torch.matmul(a.transpose(1, 2) if transa else a, b.transpose(1, 2) if transb else b)


def batch_l2_norm_squared(x: torch.Tensor) -> torch.Tensor:
    """Returns the sum of squares of each example of a batch. Source: chainer.functions.batch_l2_norm_squared.

    Args:
        x: Float tensor of shape (batch, ...) with at least two axes.

    Returns:
        Tensor of shape (batch,).
    """
    return torch.sum(torch.flatten(torch.square(x), 1), dim=1)


def tensordot(a: torch.Tensor, b: torch.Tensor, axes: int | Sequence[Any] = 2) -> torch.Tensor:
    """Returns the sum of products over the given axes of both tensors. Source: chainer.functions.tensordot.

    Args:
        a: Float tensor.
        b: Float tensor.
        axes: A number (the last axes of ``a`` with the first of ``b``), or a pair: the axes of ``a`` and those of
            ``b``, each an int or a list.
    """
    if isinstance(axes, int):
        y: torch.Tensor = torch.tensordot(a, b, dims=axes)
        return y
    if len(axes) != 2:
        raise ValueError("axes must be an int or a pair of axes")
    of_a, of_b = ([n] if isinstance(n, int) else list(n) for n in axes)
    for i, j in zip(of_a, of_b, strict=True):
        if a.shape[i] != b.shape[j]:  # torch would broadcast a length of 1
            raise ValueError(f"tensordot: axes of lengths {a.shape[i]} and {b.shape[j]} cannot be contracted")
    y = torch.tensordot(a, b, dims=(of_a, of_b))
    return y


def fft(x: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the discrete Fourier transform along the last axis, as (real part, imaginary part).

    Source: chainer.functions.fft.

    Args:
        x: Real and imaginary part: float tensors of one shape and dtype.
    """
    return _fourier("fft", x)


def ifft(x: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the inverse of :func:`fft`. Source: chainer.functions.ifft."""
    return _fourier("ifft", x)


def _fourier(name: str, x: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    real, imag = x
    _check_same(name, real, imag)
    y = getattr(torch.fft, name)(torch.complex(real, imag))
    return y.real, y.imag


def erfcinv(x: torch.Tensor) -> torch.Tensor:
    """Returns the inverse of the complementary error function, precise for small ``x`` as well.

    Source: chainer.functions.erfcinv. ``torch.erfinv(1 - x)`` would lose the small ones.
    """
    y: torch.Tensor = torch.special.ndtri(x * 0.5) * -math.sqrt(0.5)
    return y


def polygamma(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns the polygamma function of each order in ``n`` at each of ``x``, with broadcasting.

    Source: chainer.functions.polygamma. ``torch.polygamma`` takes one order for all.

    Args:
        n: Integer tensor (or an int) of orders, 0 or more.
        x: Float tensor.
    """
    n = torch.as_tensor(n, device=x.device)
    if n.is_floating_point():
        raise TypeError("polygamma: the order n must be of an integer dtype")
    order = torch.where(n == 0, 1, n).to(x.dtype)
    factorial = torch.exp(torch.lgamma(order + 1))
    higher = torch.where(n % 2 == 0, -1, 1) * factorial * torch.special.zeta(order + 1, x)
    return torch.where(n == 0, torch.digamma(x), higher)


def _check_dtypes(name: str, x: torch.Tensor, y: torch.Tensor) -> None:
    if x.dtype != y.dtype:
        raise TypeError(f"{name}: dtypes must be equal, not {x.dtype} and {y.dtype}")
