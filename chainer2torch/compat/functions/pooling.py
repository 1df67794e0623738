"""Pooling and unpooling of chainer.functions.pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.windows import (
    get_conv_outsize,
    get_deconv_outsize,
    per_axis,
    spread_windows,
    windows,
)


def max_pooling_nd(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """Maximum over windows of any number of axes.

    Args:
        x: float tensor of shape (n, c, d_1, ..., d_n).
        ksize, pad: a number, or one for each axis.
        stride: likewise; None means ``ksize``.
        cover_all: adds a window where otherwise the last elements would be in none. (``ceil_mode`` of PyTorch leaves
            such a window out if it would begin in the padding.)
        return_indices: also returns the position of each maximum within its window, for :func:`upsampling_2d`.
    Returns:
        Shape (n, c, out_1, ..., out_n); with ``return_indices`` a pair of it and an int64 tensor.
    Raises:
        ValueError: no window fits.
    Source: chainer.functions.max_pooling_nd.
    """
    n = x.dim() - 2
    if n < 1 or x.numel() == 0:
        raise ValueError("pooling needs an input that is not empty and has at least one spatial dimension")
    ksize, pad = per_axis(ksize, n), per_axis(pad, n)
    stride = ksize if stride is None else per_axis(stride, n)
    if return_indices or n > 3:
        patches = windows(x, ksize, stride, pad, cover_all, fill=-math.inf).flatten(2 + n)
        positions = patches.argmax(dim=-1, keepdim=True)
        y = patches.gather(-1, positions).squeeze(-1)
        return (y, positions.squeeze(-1)) if return_indices else y
    widths = []
    for d, k, s, p in zip(x.shape[2:], ksize, stride, pad, strict=True):
        out = get_conv_outsize(d, k, s, p, cover_all)
        if out <= 0:
            raise ValueError("Every axis of the output should be positive.")
        widths.append((p, max((out - 1) * s + k - d - p, 0)))
    padded = F.pad(x, [width for axis in reversed(widths) for width in axis], value=-math.inf)
    return (F.max_pool1d, F.max_pool2d, F.max_pool3d)[n - 1](padded, ksize, stride)


def _pooled_axes(x: torch.Tensor, n: int) -> None:
    if x.dim() != n + 2:
        raise ValueError(
            f"The number of dimensions under channel dimension of the input 'x' should be {n}. "
            f"But the actual ndim was {x.dim() - 2}."
        )


def max_pooling_1d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """:func:`max_pooling_nd` over one axis. Source: chainer.functions.max_pooling_1d."""
    _pooled_axes(x, 1)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_2d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """:func:`max_pooling_nd` over two axes. Source: chainer.functions.max_pooling_2d."""
    _pooled_axes(x, 2)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)


def max_pooling_3d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True, return_indices: bool = False
) -> Any:
    """:func:`max_pooling_nd` over three axes. Source: chainer.functions.max_pooling_3d."""
    _pooled_axes(x, 3)
    return max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices)


def average_pooling_nd(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: float | None = 0
) -> torch.Tensor:
    """Mean over windows of any number of axes.

    Args:
        x: float tensor of shape (n, c, d_1, ..., d_n).
        ksize, pad: a number, or one for each axis.
        stride: likewise; None means ``ksize``.
        pad_value: 0 counts the padding as zeros, None leaves it out of the mean.
    Returns:
        Shape (n, c, out_1, ..., out_n).
    Raises:
        ValueError: no window fits, or another ``pad_value``.
    Source: chainer.functions.average_pooling_nd.
    """
    if pad_value is not None and pad_value != 0:
        raise ValueError(f"pad_value must be either 0 or None, not {pad_value}.")
    n = x.dim() - 2
    if n < 1 or x.numel() == 0:
        raise ValueError("pooling needs an input that is not empty and has at least one spatial dimension")
    ksize, pad = per_axis(ksize, n), per_axis(pad, n)
    stride = ksize if stride is None else per_axis(stride, n)
    axes = tuple(range(2 + n, 2 + 2 * n))
    y: torch.Tensor = windows(x, ksize, stride, pad).sum(axes)
    if pad_value is None:
        return y / _widths(x, ksize, stride, pad)
    size: int = math.prod(ksize)
    return y / size


def _widths(x: torch.Tensor, ksize: Sequence[int], stride: Sequence[int], pad: Sequence[int]) -> torch.Tensor:
    """How much of each window is not padding. (Of a window that lies beyond it Chainer's count is negative.)"""
    result = torch.ones((), dtype=x.dtype, device=x.device)
    for d, k, s, p in zip(x.shape[2:], ksize, stride, pad, strict=True):
        starts = torch.arange(get_conv_outsize(d, k, s, p), dtype=x.dtype, device=x.device) * s - p
        result = result[..., None] * ((starts + k).clamp(max=d) - starts.clamp(min=0))
    return result


def average_pooling_1d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: float | None = 0
) -> torch.Tensor:
    """:func:`average_pooling_nd` over one axis. Source: chainer.functions.average_pooling_1d."""
    _pooled_axes(x, 1)
    return average_pooling_nd(x, ksize, stride, pad, pad_value)


def average_pooling_2d(x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0) -> torch.Tensor:
    """:func:`average_pooling_nd` over two axes; the padding counts. Source: chainer.functions.average_pooling_2d."""
    _pooled_axes(x, 2)
    return average_pooling_nd(x, ksize, stride, pad)


def average_pooling_3d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, pad_value: float | None = 0
) -> torch.Tensor:
    """:func:`average_pooling_nd` over three axes. Source: chainer.functions.average_pooling_3d."""
    _pooled_axes(x, 3)
    return average_pooling_nd(x, ksize, stride, pad, pad_value)


def _unpooled_size(
    size: Sequence[int],
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    outsize: Sequence[int | None] | None,
    cover_all: bool,
) -> list[int]:
    result = []
    for d, k, s, p, out in zip(size, ksize, stride, pad, outsize or [None] * len(size), strict=True):
        if out is not None and get_conv_outsize(out, k, s, p, cover_all) != d:
            raise ValueError(f"outsize {outsize} does not fit an input of {tuple(size)}")
        result.append(get_deconv_outsize(d, k, s, p, cover_all) if out is None else out)
        if result[-1] < 0:
            raise ValueError(f"nothing is left of an input of {tuple(size)}")
    return result


def unpooling_nd(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> torch.Tensor:
    """Spreads each element over its window, and adds where windows overlap: the transpose of sum pooling.

    Args:
        x: float tensor of shape (n, c, d_1, ..., d_n).
        ksize, pad: a number, or one for each axis.
        stride: likewise; None means ``ksize``.
        outsize: the size of the result; None: the smallest (``cover_all``) or the largest whose pooling gives the
            size of ``x``.
        cover_all: as in :func:`max_pooling_nd`.
    Returns:
        Shape (n, c, *outsize).
    Raises:
        ValueError: ``outsize`` does not fit.
    Source: chainer.functions.unpooling_nd.
    """
    n = x.dim() - 2
    ksize, pad = per_axis(ksize, n), per_axis(pad, n)
    stride = ksize if stride is None else per_axis(stride, n)
    size = _unpooled_size(x.shape[2:], ksize, stride, pad, outsize, cover_all)
    cols = x.reshape(*x.shape, *[1] * n).expand(*x.shape, *ksize)
    return spread_windows(cols, size, stride, pad)


def unpooling_1d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> torch.Tensor:
    """:func:`unpooling_nd` over one axis. Source: chainer.functions.unpooling_1d."""
    _pooled_axes(x, 1)
    return unpooling_nd(x, ksize, stride, pad, outsize, cover_all)


def unpooling_2d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> torch.Tensor:
    """:func:`unpooling_nd` over two axes.

    Where the result is a whole multiple of the input (less the padding) and windows do not overlap, Chainer repeats
    the pixels of the input without half the padding on each side; that is kept.

    Source: chainer.functions.unpooling_2d.
    """
    _pooled_axes(x, 2)
    (kh, kw), (ph, pw) = per_axis(ksize, 2), per_axis(pad, 2)
    sy, sx = (kh, kw) if stride is None else per_axis(stride, 2)
    h, w = x.shape[2:]
    out_h, out_w = _unpooled_size((h, w), (kh, kw), (sy, sx), (ph, pw), outsize, cover_all)
    repeats = (out_h, out_w) == (kh * (h - ph), kw * (w - pw)) and (sx, sy) == (kh, kw)
    if repeats and ph % 2 == 0 and pw % 2 == 0 and h > ph and w > pw:
        inner = x[:, :, ph // 2 : h - ph // 2, pw // 2 : w - pw // 2] if ph > 0 or pw > 0 else x
        return inner.repeat_interleave(kh, dim=2).repeat_interleave(kw, dim=3)
    return unpooling_nd(x, (kh, kw), (sy, sx), (ph, pw), (out_h, out_w), cover_all)


def unpooling_3d(
    x: torch.Tensor, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> torch.Tensor:
    """:func:`unpooling_nd` over three axes. Source: chainer.functions.unpooling_3d."""
    _pooled_axes(x, 3)
    return unpooling_nd(x, ksize, stride, pad, outsize, cover_all)


def upsampling_2d(
    x: torch.Tensor,
    indexes: torch.Tensor,
    ksize: Any,
    stride: Any = None,
    pad: Any = 0,
    outsize: Any = None,
    cover_all: bool = True,
) -> torch.Tensor:
    """Puts each element at one place of its window, zeros elsewhere.

    Args:
        x: float tensor of shape (n, c, h, w).
        indexes: integers of the same shape, the places within the windows: the second result of
            ``max_pooling_2d(..., return_indices=True)``.
        ksize, stride, pad, outsize, cover_all: as in :func:`unpooling_nd`.
    Returns:
        Shape (n, c, out_h, out_w).
    Raises:
        ValueError: ``indexes`` or ``outsize`` do not fit.
    Source: chainer.functions.upsampling_2d.
    """
    ksize, pad = per_axis(ksize, 2), per_axis(pad, 2)
    stride = ksize if stride is None else per_axis(stride, 2)
    if x.shape != indexes.shape:
        raise ValueError(f"x {tuple(x.shape)} and indexes {tuple(indexes.shape)} differ")
    size = _unpooled_size(x.shape[2:], ksize, stride, pad, outsize, cover_all)
    empty = x.new_zeros(*x.shape, math.prod(ksize))
    cols = empty.scatter(-1, indexes.long()[..., None], x[..., None])
    return spread_windows(cols.unflatten(-1, ksize), size, stride, pad)


def spatial_pyramid_pooling_2d(x: torch.Tensor, pyramid_height: int, pooling: str | None = None) -> torch.Tensor:
    """Maxima over 1, 4, 16, ... regions of the image, as one vector for each image.

    Args:
        x: float tensor of shape (n, c, h, w).
        pyramid_height: the number of levels.
        pooling: ``'max'``.
    Returns:
        Shape (n, c * (4 ** pyramid_height - 1) / 3, 1, 1).
    Raises:
        ValueError: ``pooling`` is not ``'max'``.
    Source: chainer.functions.spatial_pyramid_pooling_2d.
    """
    if pooling != "max":
        raise ValueError("Unsupported pooling operation: ", pooling)
    levels = []
    for level in range(pyramid_height):
        bins = 2**level
        ksize = [math.ceil(size / bins) for size in x.shape[2:]]
        pad = [(k * bins - size) // 2 for k, size in zip(ksize, x.shape[2:], strict=True)]
        levels.append(max_pooling_2d(x, ksize, None, pad).reshape(len(x), -1, 1, 1))
    return torch.cat(levels, dim=1)
