"""Reductions along axes: Chainer takes None, an int or a tuple, and an empty tuple reduces nothing."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch

Axis = int | tuple[int, ...] | None


def sum_along(x: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Returns the sum of a float tensor over the given axes. Source: chainer.functions.sum.

    Unlike ``torch.sum`` an empty tuple of axes reduces nothing. Raises ValueError for an axis that is named twice.
    """
    dims = _reduced_axes(x, axis)
    return torch.sum(x, dim=dims, keepdim=keepdims) if dims else x.clone()


def average(
    x: torch.Tensor, axis: Axis = None, weights: torch.Tensor | None = None, keepdims: bool = False
) -> torch.Tensor:
    """Returns the (weighted) mean of a float tensor over the given axes. Source: chainer.functions.average (and mean).

    Args:
        x: Float tensor.
        axis: None (all axes), an int, or a tuple of ints (only without weights).
        weights: A tensor of the shape of ``x`` when ``axis`` is None, else one value for each index of that axis.
        keepdims: Keep the reduced axes with length 1.

    Raises:
        ValueError: An axis is named twice, or several axes are given together with weights.
    """
    dims = _reduced_axes(x, axis)
    if weights is None:
        return torch.mean(x, dim=dims, keepdim=keepdims) if dims else x.clone()
    if axis is None:
        return sum_along(x * weights, axis, keepdims) / torch.sum(weights)
    if len(dims) > 1:
        raise ValueError("a tuple of axes cannot be combined with weights")
    if dims:
        shape = [n if i == dims[0] else 1 for i, n in enumerate(x.shape)]
        spread = weights.reshape(shape).expand(x.shape)
        return torch.sum(x * spread, dim=dims, keepdim=keepdims) / torch.sum(weights)
    return x * weights.reshape([1] * x.ndim).expand(x.shape) / torch.sum(weights)


def prod(x: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Returns the product of a float tensor over the given axes. Source: chainer.functions.prod."""
    y = x
    for dim in sorted(_reduced_axes(x, axis), reverse=True):
        y = torch.prod(y, dim=dim, keepdim=keepdims)
    return y


def logsumexp(x: torch.Tensor, axis: Axis = None) -> torch.Tensor:
    """Returns ``log(sum(exp(x)))`` over the given axes, by default all of them. Source: chainer.functions.logsumexp."""
    dims = _reduced_axes(x, axis)
    return torch.logsumexp(x, dim=dims) if dims else x.clone()


def amax(x: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Returns the largest elements of a float tensor over the given axes. Source: chainer.functions.max.

    Every element that equals the largest gets the whole gradient, where PyTorch chooses one of them or splits it.
    """
    return _Extreme.apply(x, _reduced_axes(x, axis), keepdims, True)


def amin(x: torch.Tensor, axis: Axis = None, keepdims: bool = False) -> torch.Tensor:
    """Returns the smallest elements of a float tensor over the given axes. Source: chainer.functions.min.

    Every element that equals the smallest gets the whole gradient, where PyTorch chooses one of them or splits it.
    """
    return _Extreme.apply(x, _reduced_axes(x, axis), keepdims, False)


class _Extreme(torch.autograd.Function):
    """Maximum or minimum whose gradient goes to all elements that are equal to it."""

    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, dims: tuple[int, ...], keepdims: bool, largest: bool) -> torch.Tensor:
        y = (torch.amax if largest else torch.amin)(x, dim=dims, keepdim=True) if dims else x.clone()
        ctx.kept_shape = y.shape
        ctx.save_for_backward(x == y)
        return y if keepdims else y.reshape([n for i, n in enumerate(x.shape) if i not in dims])

    @staticmethod
    def backward(ctx: Any, gy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (selected,) = ctx.saved_tensors
        return gy.reshape(ctx.kept_shape) * selected, None, None, None


def cumsum(x: torch.Tensor, axis: int | None = None) -> torch.Tensor:
    """Returns the cumulative sum along an axis, or of the flattened tensor. Source: chainer.functions.cumsum."""
    return torch.cumsum(torch.flatten(x), 0) if axis is None else torch.cumsum(x, axis)


def cumprod(x: torch.Tensor, axis: int | None = None) -> torch.Tensor:
    """Returns the cumulative product along an axis, or of the flattened tensor. Source: chainer.functions.cumprod."""
    return torch.cumprod(torch.flatten(x), 0) if axis is None else torch.cumprod(x, axis)


def _reduced_axes(x: torch.Tensor, axis: Axis) -> tuple[int, ...]:
    """Returns the axes to reduce as non-negative numbers; raises for what Chainer does not take."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    if not isinstance(axes, tuple):
        raise TypeError("axis must be None, an int or a tuple of ints")
    for a in axes:
        if not -x.ndim <= a < x.ndim:
            raise ValueError(f"axis {a} is out of range for a tensor with {x.ndim} axes")
    dims = tuple(a % x.ndim for a in axes)
    if len(set(dims)) != len(dims):
        raise ValueError(f"an axis is named twice: {axis}")
    return dims
