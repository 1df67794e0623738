"""Sliding windows over the trailing axes: what Chainer's pooling, unpooling and im2col are built on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F


def get_conv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """How many windows fit on one axis.

    Args:
        size: length of the axis.
        k, s, p, d: size, stride, padding (on both sides) and dilation of the window.
        cover_all: one window more where otherwise the last elements would be in none.
    Source: chainer.utils.get_conv_outsize.
    """
    span = (k - 1) * d + 1
    return (size + 2 * p - span + (s - 1 if cover_all else 0)) // s + 1


def get_deconv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The length of an axis over which ``size`` windows spread; arguments as in :func:`get_conv_outsize`.

    Source: chainer.utils.get_deconv_outsize.
    """
    span = (k - 1) * d + 1
    return s * (size - 1) + span - (s - 1 if cover_all else 0) - 2 * p


def per_axis(value: Any, n_axes: int) -> tuple[int, ...]:
    """``value`` once for each axis: a number is repeated, a sequence must have the right length.

    Raises:
        ValueError: the sequence has another length.
    Source: chainer.utils.conv_nd.as_tuple.
    """
    values = tuple(value) if hasattr(value, "__len__") else (value,) * n_axes
    if len(values) != n_axes:
        raise ValueError(f"{value!r} has {len(values)} numbers for {n_axes} axes")
    return values


def windows(
    x: torch.Tensor,
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    cover_all: bool = False,
    dilate: Sequence[int] | None = None,
    fill: float = 0,
) -> torch.Tensor:
    """All windows over the trailing axes of ``x``.

    Args:
        x: shape (..., d_1, ..., d_n).
        ksize, stride, pad, dilate: n numbers each.
        cover_all: see :func:`get_conv_outsize`.
        fill: the value of the padding.
    Returns:
        A view of (a padded) ``x`` of shape (..., out_1, ..., out_n, k_1, ..., k_n).
    Raises:
        ValueError: no window fits.
    """
    n = len(ksize)
    dilate = dilate or (1,) * n
    outs, widths = [], []
    for d, k, s, p, e in zip(x.shape[x.dim() - n :], ksize, stride, pad, dilate, strict=True):
        out = get_conv_outsize(d, k, s, p, cover_all, e)
        if out <= 0:
            raise ValueError("Every axis of the output should be positive.")
        outs.append(out)
        widths.append((p, max((out - 1) * s + (k - 1) * e + 1 - d - p, 0)))
    if any(left or right for left, right in widths):
        x = F.pad(x, [width for axis in reversed(widths) for width in axis], value=fill)
    first = x.dim() - n
    for i in range(n):
        x = x.unfold(first + i, (ksize[i] - 1) * dilate[i] + 1, stride[i])[..., :: dilate[i]]
        x = x.narrow(first + i, 0, outs[i])
    return x


def spread_windows(
    cols: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilate: Sequence[int] | None = None,
) -> torch.Tensor:
    """The transpose of :func:`windows`: adds the windows up where they overlap; what falls on the padding is lost.

    Args:
        cols: shape (n, c, out_1, ..., out_n, k_1, ..., k_n).
        size: the n axes of the result; windows or parts of them that lie outside are lost.
        stride, pad, dilate: n numbers each.
    Returns:
        Shape (n, c, *size).
    """
    n = len(size)
    dilate = dilate or (1,) * n
    outs, ksize = cols.shape[2 : 2 + n], cols.shape[2 + n :]
    # The position of each element of a window on each axis, -1 where it falls outside.
    flat = torch.zeros((), dtype=torch.long, device=cols.device)
    inside = torch.ones((), dtype=torch.bool, device=cols.device)
    for i in range(n):
        start = torch.arange(outs[i], device=cols.device) * stride[i] - pad[i]
        position = start[:, None] + torch.arange(ksize[i], device=cols.device) * dilate[i]
        shape = [1] * (2 * n)
        shape[i], shape[n + i] = outs[i], ksize[i]
        position = position.reshape(shape)
        flat = flat * size[i] + position
        inside = inside & (position >= 0) & (position < size[i])
    length = 1
    for axis in size:
        length *= axis
    keep = inside.reshape(-1)
    values = cols.flatten(2)[..., keep]
    result = cols.new_zeros((cols.shape[0], cols.shape[1], length))
    return result.index_add(2, flat.reshape(-1)[keep], values).reshape(*cols.shape[:2], *size)
