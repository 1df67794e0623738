"""Convolutions and deconvolutions of chainer.functions, with options that torch's do not have."""

from __future__ import annotations

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


def convolution_nd(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """Convolution over any number of axes.

    Args:
        x: shape (n, c, d_1, ..., d_n).
        W: shape (out, c / groups, k_1, ..., k_n).
        b: shape (out,), or None.
        stride, pad, dilate: a number, or one for each axis.
        cover_all: adds a window where otherwise the last elements would be in none.
        groups: number of groups of channels.
    Returns:
        Shape (n, out, out_1, ..., out_n).
    Raises:
        ValueError, RuntimeError: the shapes do not fit, or no window does.
    Source: chainer.functions.convolution_nd.
    """
    n = x.dim() - 2
    ksize = tuple(W.shape[2:])
    stride, pad, dilate = (per_axis(value, n) for value in (stride, pad, dilate))
    if n > 3:
        return _convolution_over_windows(x, W, b, stride, pad, cover_all, dilate, groups)
    if cover_all:
        x, pad = _pad_to_cover_all(x, ksize, stride, pad, dilate), (0,) * n
    convolve = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
    return convolve(x, W, b, stride, pad, dilate, groups)


def _pad_to_cover_all(
    x: torch.Tensor,
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilate: Sequence[int],
    fill: float = 0,
) -> torch.Tensor:
    """Pads so that floor mode without padding gives the windows of ``cover_all``."""
    widths = []
    for d, k, s, p, e in zip(x.shape[2:], ksize, stride, pad, dilate, strict=True):
        out = get_conv_outsize(d, k, s, p, True, e)
        widths.append((p, max((out - 1) * s + (k - 1) * e + 1 - d - p, p)))
    return F.pad(x, [width for axis in reversed(widths) for width in axis], value=fill)


def _convolution_over_windows(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None,
    stride: Sequence[int],
    pad: Sequence[int],
    cover_all: bool,
    dilate: Sequence[int],
    groups: int,
) -> torch.Tensor:
    n = x.dim() - 2
    if x.shape[1] != W.shape[1] * groups or W.shape[0] % groups:
        raise ValueError(f"x {tuple(x.shape)} and W {tuple(W.shape)} do not fit in {groups} groups")
    cols = windows(x, tuple(W.shape[2:]), stride, pad, cover_all, dilate)
    contracted = [1, *range(2 + n, 2 + 2 * n)], [1, *range(2, 2 + n)]
    parts = [
        torch.tensordot(c, w, dims=contracted).movedim(-1, 1)
        for c, w in zip(cols.chunk(groups, 1), W.chunk(groups), strict=True)
    ]
    return _add_bias(torch.cat(parts, dim=1), b)


def _add_bias(y: torch.Tensor, b: torch.Tensor | None) -> torch.Tensor:
    """Adds a bias of shape (channels,), which must not broadcast; the dtype is that of ``y``."""
    if b is None:
        return y
    if b.shape != y.shape[1:2]:
        raise ValueError(f"a bias of shape {tuple(b.shape)} does not fit {y.shape[1]} channels")
    return y + b.to(y.dtype).reshape(-1, *[1] * (y.dim() - 2))


def _with_axes(x: torch.Tensor, n: int) -> None:
    if x.dim() != n + 2:
        raise ValueError(
            f"The number of dimensions under channel dimension of the input 'x' should be {n}. "
            f"But the actual ndim was {x.dim() - 2}."
        )


def convolution_1d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """:func:`convolution_nd` over one axis. Source: chainer.functions.convolution_1d."""
    _with_axes(x, 1)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)


def convolution_2d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    *,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """:func:`convolution_nd` over two axes. Source: chainer.functions.convolution_2d."""
    _with_axes(x, 2)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)


def convolution_3d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """:func:`convolution_nd` over three axes. Source: chainer.functions.convolution_3d."""
    _with_axes(x, 3)
    return convolution_nd(x, W, b, stride, pad, cover_all, dilate, groups)


def dilated_convolution_2d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    dilate: Any = 1,
    cover_all: bool = False,
) -> torch.Tensor:
    """:func:`convolution_nd` over two axes. Source: chainer.functions.dilated_convolution_2d."""
    return convolution_2d(x, W, b, stride, pad, cover_all, dilate=dilate)


def depthwise_convolution_2d(
    x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None, stride: Any = 1, pad: Any = 0
) -> torch.Tensor:
    """Convolves each channel with filters of its own.

    Args:
        x: shape (n, c, h, w).
        W: shape (multiplier, c, kh, kw).
        b: shape (c * multiplier,), or None.
        stride, pad: a number or a pair.
    Returns:
        Shape (n, c * multiplier, out_h, out_w); the results for one channel lie together.
    Source: chainer.functions.depthwise_convolution_2d.
    """
    filters = W.transpose(0, 1).reshape(-1, 1, *W.shape[2:])
    return F.conv2d(x, filters, b, per_axis(stride, 2), per_axis(pad, 2), groups=W.shape[1])


def deconvolution_nd(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Sequence[int | None] | None = None,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """Transposed convolution over any number of axes.

    Args:
        x: shape (n, c, d_1, ..., d_n).
        W: shape (c, out / groups, k_1, ..., k_n).
        b: shape (out,), or None.
        stride, pad, dilate: a number, or one for each axis.
        outsize: the size of the result on each axis; it may differ by less than a stride from the default, None,
            ``stride * (d - 1) + (k - 1) * dilate + 1 - 2 * pad``.
        groups: number of groups of channels.
    Returns:
        Shape (n, out, *outsize).
    Raises:
        ValueError, RuntimeError: the shapes or the size do not fit.
    Source: chainer.functions.deconvolution_nd.
    """
    n = x.dim() - 2
    ksize = tuple(W.shape[2:])
    stride, pad, dilate = (per_axis(value, n) for value in (stride, pad, dilate))
    fitting = [
        get_deconv_outsize(d, k, s, p, d=e)
        for d, k, s, p, e in zip(x.shape[2:], ksize, stride, pad, dilate, strict=True)
    ]
    given = [None] * n if outsize is None else outsize
    sizes = [size if own is None else own for size, own in zip(fitting, given, strict=True)]
    _check_outsize(sizes, tuple(x.shape[2:]), ksize, stride, pad, dilate)
    if n > 3:
        return _add_bias(_deconvolution_over_windows(x, W, sizes, stride, pad, dilate, groups), b)
    deconvolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
    full = deconvolve(x, W, None, stride, groups=groups, dilation=dilate)
    for axis, (out, p) in enumerate(zip(sizes, pad, strict=True), 2):
        missing = max(p + out - full.shape[axis], 0)
        full = F.pad(full, [*[0, 0] * (full.dim() - 1 - axis), 0, missing]).narrow(axis, p, out)
    return _add_bias(full, b)


def _check_outsize(
    outsize: Sequence[int],
    size: Sequence[int],
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilate: Sequence[int],
) -> None:
    for out, d, k, s, p, e in zip(outsize, size, ksize, stride, pad, dilate, strict=True):
        if out <= 0 or not get_conv_outsize(out, k, s, p, d=e) <= d <= get_conv_outsize(out, k, s, p, True, e):
            raise ValueError(f"outsize {tuple(outsize)} does not fit an input of {tuple(size)}")


def _deconvolution_over_windows(
    x: torch.Tensor,
    W: torch.Tensor,
    outsize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilate: Sequence[int],
    groups: int,
) -> torch.Tensor:
    n = x.dim() - 2
    parts = []
    for part, w in zip(x.chunk(groups, 1), W.chunk(groups), strict=True):
        cols = torch.tensordot(part, w, dims=([1], [0])).movedim(1 + n, 1)  # (n, out, d_1, ..., k_1, ...)
        parts.append(spread_windows(cols, outsize, stride, pad, dilate))
    return torch.cat(parts, dim=1)


def deconvolution_1d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """:func:`deconvolution_nd` over one axis. Source: chainer.functions.deconvolution_1d."""
    _with_axes(x, 1)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)


def deconvolution_2d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    *,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """:func:`deconvolution_nd` over two axes. Source: chainer.functions.deconvolution_2d."""
    _with_axes(x, 2)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)


def deconvolution_3d(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
) -> torch.Tensor:
    """:func:`deconvolution_nd` over three axes. Source: chainer.functions.deconvolution_3d."""
    _with_axes(x, 3)
    return deconvolution_nd(x, W, b, stride, pad, outsize, dilate, groups)
