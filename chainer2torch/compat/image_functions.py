"""Functions of chainer.functions.array on images: patches, sizes, sampling grids."""
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.windows import per_axis, windows


def im2col(x: torch.Tensor, ksize: Any, stride: Any = 1, pad: Any = 0, cover_all: bool = False,
           dilate: Any = 1) -> torch.Tensor:
    """The patches under a sliding window, as channels.

    Args:
        x: shape (n, c, h, w).
        ksize, stride, pad, dilate: a number or a pair.
        cover_all: adds a window where otherwise the last rows or columns would be in none.
    Returns:
        Shape (n, c * kh * kw, out_h, out_w).
    Raises:
        ValueError: no window fits.
    Source: chainer.functions.im2col.
    """
    patches = windows(x, per_axis(ksize, 2), per_axis(stride, 2), per_axis(pad, 2), cover_all, per_axis(dilate, 2))
    n, c, out_h, out_w, kh, kw = patches.shape
    return patches.permute(0, 1, 4, 5, 2, 3).reshape(n, c * kh * kw, out_h, out_w)


def depth2space(X: torch.Tensor, r: int) -> torch.Tensor:
    """Spreads blocks of channels over squares of r times r pixels.

    Unlike ``pixel_shuffle`` the channels of one pixel lie together: channel ``(i * r + j) * c + k`` of the input is
    channel k of pixel (i, j).

    Args:
        X: float tensor of shape (n, r * r * c, h, w).
        r: the factor.
    Returns:
        Shape (n, c, r * h, r * w).
    Source: chainer.functions.depth2space.
    """
    n, c, h, w = X.shape
    c //= r * r
    return X.reshape(n, r, r, c, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c, r * h, r * w)


def space2depth(X: torch.Tensor, r: int) -> torch.Tensor:
    """The inverse of :func:`depth2space`: (n, c, r * h, r * w) becomes (n, r * r * c, h, w).

    Source: chainer.functions.space2depth.
    """
    n, c, h, w = X.shape
    blocks = X.reshape(n, c, h // r, r, w // r, r)
    return blocks.permute(0, 3, 5, 1, 2, 4).reshape(n, r * r * c, h // r, w // r)


def resize_images(x: torch.Tensor, output_shape: Any, *, mode: str = "bilinear",
                  align_corners: bool = True) -> torch.Tensor:
    """Resizes images.

    Args:
        x: float tensor of shape (n, c, h, w).
        output_shape: (out_h, out_w).
        mode: ``'bilinear'`` or ``'nearest'``.
        align_corners: with ``'bilinear'``, the corner pixels keep their places.
    Raises:
        ValueError: another mode.
    Source: chainer.functions.resize_images (which takes float32 only).
    """
    if mode == "bilinear":
        return F.interpolate(x, size=tuple(output_shape), mode="bilinear", align_corners=align_corners)
    if mode != "nearest":
        raise ValueError(f"mode must be 'bilinear' or 'nearest', not {mode!r}")
    # F.interpolate finds the nearest pixel with float32 arithmetic, which is another one for some sizes.
    rows, columns = (_nearest(size, out, x.device) for size, out in zip(x.shape[2:], output_shape, strict=True))
    return x[:, :, rows[:, None], columns]


def _nearest(size: int, out: int, device: torch.device) -> torch.Tensor:
    positions = torch.arange(out, dtype=torch.float64, device=device) * (size / out)
    return positions.floor().long().clamp(max=size - 1)


def spatial_transformer_grid(theta: torch.Tensor, output_shape: Any) -> torch.Tensor:
    """The sampling grid of an affine map.

    Args:
        theta: shape (n, 2, 3).
        output_shape: (out_h, out_w).
    Returns:
        Shape (n, 2, out_h, out_w): x and y of each pixel, -1 and 1 being the outermost pixels.
    Source: chainer.functions.spatial_transformer_grid.
    """
    h, w = output_shape
    rows = torch.linspace(-1, 1, h, dtype=theta.dtype, device=theta.device)
    columns = torch.linspace(-1, 1, w, dtype=theta.dtype, device=theta.device)
    ys, xs = torch.meshgrid(rows, columns, indexing="ij")
    coordinates = torch.stack([xs, ys, torch.ones_like(xs)]).reshape(3, h * w)
    return (theta @ coordinates).reshape(len(theta), 2, h, w)


def spatial_transformer_sampler(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """Samples images at the points of a grid, bilinearly; outside is zero.

    Args:
        x: shape (n, c, h, w).
        grid: shape (n, 2, out_h, out_w), x before y, -1 and 1 being the outermost pixels.
    Returns:
        Shape (n, c, out_h, out_w).
    Raises:
        RuntimeError: shapes or dtypes do not fit.
    Source: chainer.functions.spatial_transformer_sampler.
    """
    return F.grid_sample(x, grid.permute(0, 2, 3, 1), mode="bilinear", padding_mode="zeros", align_corners=True)
