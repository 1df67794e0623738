"""Other functions of chainer.functions.connection, with options that torch's do not have."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.convolutions import _add_bias
from chainer2torch.compat.functions.image_functions import spatial_transformer_sampler
from chainer2torch.compat.functions.windows import per_axis, windows


def linear(x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None, n_batch_axes: int = 1) -> torch.Tensor:
    """``x W^T + b``, where everything after the batch axes of ``x`` is one axis.

    Args:
        x: shape (batch axes, ...), whose trailing axes hold ``W.shape[1]`` numbers.
        W: shape (out, in).
        b: shape (out,), or None.
        n_batch_axes: how many leading axes stay.
    Returns:
        Shape (batch axes, out).
    Raises:
        ValueError: ``n_batch_axes`` is not positive. RuntimeError: the shapes do not fit.
    Source: chainer.functions.linear.
    """
    if n_batch_axes <= 0:
        raise ValueError("n_batch_axes should be greater than 0.")
    if x.dim() != n_batch_axes + 1:
        x = x.reshape(*x.shape[:n_batch_axes], math.prod(x.shape[n_batch_axes:]))
    return F.linear(x, W, b)


def local_convolution_2d(
    x: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None, stride: Any = 1
) -> torch.Tensor:
    """Convolution with a filter of its own at each position.

    Args:
        x: shape (n, c, h, w).
        W: shape (out, out_h, out_w, c, kh, kw).
        b: shape (out, out_h, out_w), or None.
        stride: a number or a pair.
    Returns:
        Shape (n, out, out_h, out_w).
    Raises:
        RuntimeError: the shapes do not fit.
    Source: chainer.functions.local_convolution_2d.
    """
    _, out_h, out_w, _, kh, kw = W.shape
    patches = windows(x, (kh, kw), per_axis(stride, 2), (0, 0))[:, :, :out_h, :out_w]
    y = torch.einsum("ncijkl,oijckl->noij", patches, W)
    return y if b is None else y + b


def shift(x: torch.Tensor, ksize: Any = 3, dilate: Any = 1) -> torch.Tensor:
    """Moves groups of channels by one step each, in all the directions of a window.

    Args:
        x: shape (n, c, h, w) with ``c >= kh * kw``. The channels fall into ``kh * kw`` groups (the last takes what is
            left over); zeros come in from outside.
        ksize: odd, a number or a pair.
        dilate: the length of a step, a number or a pair.
    Raises:
        ValueError: ``ksize`` is even, or there are too few channels.
    Source: chainer.functions.shift.
    """
    (kh, kw), (dy, dx) = per_axis(ksize, 2), per_axis(dilate, 2)
    if kh % 2 != 1 or kw % 2 != 1:
        raise ValueError("kh and kw must be odd")
    groups = kh * kw
    if x.dim() != 4 or x.shape[1] < groups:
        raise ValueError(f"x must have four axes and at least {groups} channels")
    h, w = x.shape[2:]
    py, px = kh // 2 * abs(dy), kw // 2 * abs(dx)
    padded = F.pad(x, (px, px, py, py))
    size = x.shape[1] // groups
    middle = (groups - 1) // 2
    parts = []
    for i in range(groups):
        # The last group, which may be larger, is the one that stays where it is.
        direction = {middle: groups - 1, groups - 1: middle}.get(i, i)
        top = py - (direction // kw - kh // 2) * dy
        left = px - (direction % kw - kw // 2) * dx
        stop = x.shape[1] if i == groups - 1 else (i + 1) * size
        parts.append(padded[:, i * size : stop, top : top + h, left : left + w])
    return torch.cat(parts, dim=1)


def bilinear(
    e1: torch.Tensor,
    e2: torch.Tensor,
    W: torch.Tensor,
    V1: torch.Tensor | None = None,
    V2: torch.Tensor | None = None,
    b: torch.Tensor | None = None,
) -> torch.Tensor:
    """``sum_jk e1_j e2_k W_jkl``, and ``+ e1 V1 + e2 V2 + b`` if these are given.

    Args:
        e1, e2: shapes (n, ...), flattened to (n, j) and (n, k).
        W: shape (j, k, l).
        V1, V2, b: shapes (j, l), (k, l), (l,): all or none.
    Returns:
        Shape (n, l).
    Raises:
        ValueError: only some of ``V1``, ``V2`` and ``b`` are given.
    Source: chainer.functions.bilinear (which takes float32 only).
    """
    e1, e2 = e1.reshape(len(e1), -1), e2.reshape(len(e2), -1)
    y = torch.einsum("nj,nk,jkl->nl", e1, e2, W)
    if V1 is None and V2 is None and b is None:
        return y
    if V1 is None or V2 is None or b is None:
        raise ValueError("All coefficients and bias for bilinear() must be None, if at least one of them is None.")
    return y + e1 @ V1 + e2 @ V2 + b


def embed_id(x: torch.Tensor, W: torch.Tensor, ignore_label: int | None = None) -> torch.Tensor:
    """The rows of ``W`` that ``x`` names.

    Args:
        x: integers of any shape; negative ones count from the end.
        W: shape (n, m).
        ignore_label: where ``x`` holds this the result is zero, without a gradient.
    Returns:
        Shape (*x.shape, m).
    Raises:
        IndexError, RuntimeError: an element of ``x`` is out of bounds.
    Source: chainer.functions.embed_id.
    """
    x = x.long()
    if ignore_label is None:
        return W[x]
    ignored = x == ignore_label
    return W[x.masked_fill(ignored, 0)].masked_fill(ignored[..., None], 0)


def deformable_convolution_2d_sampler(
    x: torch.Tensor, offset: torch.Tensor, W: torch.Tensor, b: torch.Tensor | None = None, stride: Any = 1, pad: Any = 0
) -> torch.Tensor:
    """Convolution whose filters look at displaced pixels.

    Args:
        x: shape (n, c, h, w).
        offset: shape (n, 2 * kh * kw, out_h, out_w): all displacements along x, then all along y.
        W: shape (out, c, kh, kw).
        b: shape (out,), or None.
        stride, pad: a number or a pair.
    Returns:
        Shape (n, out, out_h, out_w).
    Raises:
        ValueError: ``offset`` does not fit the filters.
    Source: chainer.functions.deformable_convolution_2d_sampler.
    """
    (sy, sx), (ph, pw) = per_axis(stride, 2), per_axis(pad, 2)
    _, _, kh, kw = W.shape
    n, c, h, w = x.shape
    _, n_offsets, out_h, out_w = offset.shape
    if n_offsets != 2 * kh * kw:
        raise ValueError("The shape of the offset does not match the kernel size")

    def steps(stop: int, step: int = 1) -> torch.Tensor:
        return torch.arange(0, stop, step, dtype=offset.dtype, device=offset.device)

    columns = offset[:, : kh * kw] + steps(sx * out_w, sx) + steps(kw).repeat(kh)[:, None, None]
    rows = offset[:, kh * kw :] + steps(sy * out_h, sy)[:, None] + steps(kh).repeat_interleave(kw)[:, None, None]
    # -1 and 1 are the outermost pixels of the padded image.
    grid = torch.stack([columns / (w + 2 * pw - 1) - 0.5, rows / (h + 2 * ph - 1) - 0.5], dim=1) * 2
    samples = spatial_transformer_sampler(F.pad(x, (pw, pw, ph, ph)), grid.flatten(3))
    y = torch.einsum("nckp,ock->nop", samples, W.reshape(len(W), c, kh * kw)).reshape(n, -1, out_h, out_w)
    return _add_bias(y, b)
