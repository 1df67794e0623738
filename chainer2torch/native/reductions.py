"""Sums and means over axes of which nobody knows whether they are none, ``()``."""

from __future__ import annotations

import torch
from torch import Tensor


def sum_along(x: Tensor, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """The sum over axes; over none of them, ``()``, it is ``x``, where torch.sum takes all.

    Source: chainer.functions.sum.
    """
    return x.clone() if axis == () else torch.sum(x, dim=axis, keepdim=keepdims)


def average(
    x: Tensor, axis: int | tuple[int, ...] | None = None, weights: Tensor | None = None, keepdims: bool = False
) -> Tensor:
    """The mean over axes; ``weights`` are one for each element, or for each index of one axis.

    Source: chainer.functions.average (and mean).
    """
    if weights is None:
        return x.clone() if axis == () else torch.mean(x, dim=axis, keepdim=keepdims)
    total = torch.sum(weights)
    if axis is not None:
        (dim,) = axis if isinstance(axis, tuple) else (axis,)
        weights = weights.reshape([-1 if i == dim % x.ndim else 1 for i in range(x.ndim)])
    return torch.sum(x * weights, dim=axis, keepdim=keepdims) / total
