"""Pooling whose windows cover the edge, gives its indices, or takes inputs of any rank."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from chainer2torch.native.spreading import _pair, _part


def max_pooling_nd(
    x: Tensor, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """The maxima of windows, and where in its window each lies; a last window may begin in the padding.

    Source: chainer.functions.max_pooling_nd.
    """
    kernel, steps, pads = (
        tuple(v) if hasattr(v, "__len__") else (v,) * (x.dim() - 2)
        for v in (ksize, ksize if stride is None else stride, pad)
    )
    widths: list[int] = []
    for size, k, s, p in zip(x.shape[2:], kernel, steps, pads, strict=True):
        behind = (size + 2 * p - k + (s - 1) * cover_all) // s * s + k - size - p
        widths = [p, behind, *widths]
    x = F.pad(x, widths, value=-math.inf)
    if not return_indices:
        return (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(kernel) - 1](x, kernel, steps)
    found = F.unfold(x, kernel, stride=steps).unflatten(1, (x.shape[1], -1)).max(dim=2)
    return tuple(y.unflatten(-1, [(d - k) // s + 1 for d, k, s in zip(x.shape[2:], kernel, steps)]) for y in found)


def max_pooling_2d(
    x: Tensor, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """max_pooling_nd over two axes. Source: chainer.functions.max_pooling_2d."""
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)


def average_pooling_nd(x: Tensor, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: float | None = 0) -> Tensor:
    """The means of windows; the padding counts as zeros, or with ``None`` not at all.

    Source: chainer.functions.average_pooling_nd.
    """
    n = x.dim() - 2
    if pad_value is not None:  # of torch's own padding there may be half a window
        pads = pad if hasattr(pad, "__len__") else (pad,) * n
        x, pad = F.pad(x, [p for p in reversed(pads) for _ in range(2)]), 0
    pool: Any = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[n - 1]
    return torch.as_tensor(pool(x, ksize, stride, pad, count_include_pad=False))


def upsampling_2d(
    x: Tensor,
    indexes: Tensor,
    ksize: Any,
    stride: Any = None,
    pad: Any = 0,
    outsize: Any = None,
    cover_all: bool = True,
) -> Tensor:
    """Each element at its place in the window. Source: chainer.functions.upsampling_2d."""
    kernel, pads = _pair(ksize), _pair(pad)
    steps = kernel if stride is None else _pair(stride)
    whole = tuple(s * (n - 1) + k for n, k, s in zip(x.shape[2:], kernel, steps))
    if outsize is None:
        outsize = [n - (s - 1 if cover_all else 0) - 2 * p for n, s, p in zip(whole, steps, pads)]
    empty = x.new_zeros(*x.shape[:2], kernel[0] * kernel[1], x[0, 0].numel())
    columns = empty.scatter(2, indexes.long().flatten(2)[:, :, None], x.flatten(2)[:, :, None]).flatten(1, 2)
    return _part(F.fold(columns, whole, kernel, stride=steps), pads, outsize)
