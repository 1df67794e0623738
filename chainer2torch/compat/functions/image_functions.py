"""Functions of chainer.functions.array on images: patches, sizes, sampling grids."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.windows import per_axis, windows


def im2col(
    x: torch.Tensor, ksize: Any, stride: Any = 1, pad: Any = 0, cover_all: bool = False, dilate: Any = 1
) -> torch.Tensor:
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


def resize_images(
    x: torch.Tensor, output_shape: Any, *, mode: str = "bilinear", align_corners: bool = True
) -> torch.Tensor:
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
    # In float64 first, as numpy.linspace does: what rounds otherwise lies on another side of a pixel.
    rows, columns = (
        torch.linspace(-1, 1, size, dtype=torch.float64, device=theta.device).to(theta.dtype) for size in (h, w)
    )
    ys, xs = torch.meshgrid(rows, columns, indexing="ij")
    coordinates = torch.stack([xs, ys, torch.ones_like(xs)]).reshape(3, h * w)
    return (theta @ coordinates).reshape(len(theta), 2, h, w)


def spatial_transformer_sampler(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """Samples images at the points of a grid, bilinearly; outside is zero.

    ``torch.nn.functional.grid_sample`` rounds the coordinates in another order. Where points lie exactly on pixels (the
    identity map, from which transformers start) it takes the derivative on the other side of many of them.

    Args:
        x: shape (n, c, h, w).
        grid: shape (n, 2, out_h, out_w), x before y, -1 and 1 being the outermost pixels.
    Returns:
        Shape (n, c, out_h, out_w).
    Raises:
        RuntimeError: shapes or dtypes do not fit.
    Source: chainer.functions.spatial_transformer_sampler.
    """
    n, c, h, w = x.shape
    if grid.dim() != 4 or grid.shape[:2] != (n, 2) or grid.dtype != x.dtype:
        raise RuntimeError(
            f"a grid of {grid.dtype} {tuple(grid.shape)} does not fit images of {x.dtype} {tuple(x.shape)}"
        )
    columns, rows = (_padded_position(grid[:, axis].flatten(1), size) for axis, size in ((0, w), (1, h)))
    left, top = columns.detach().floor().long().clamp(0, w), rows.detach().floor().long().clamp(0, h)
    pixels = F.pad(x, (1, 1, 1, 1)).flatten(2)

    def at(row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        return pixels.gather(2, (row * (w + 2) + column)[:, None].expand(-1, c, -1))

    to_right, to_bottom = (left + 1 - columns)[:, None], (top + 1 - rows)[:, None]
    from_left, from_top = (columns - left)[:, None], (rows - top)[:, None]
    y = (
        to_right * to_bottom * at(top, left)
        + from_left * to_bottom * at(top, left + 1)
        + to_right * from_top * at(top + 1, left)
        + from_left * from_top * at(top + 1, left + 1)
    )
    return y.reshape(n, c, *grid.shape[2:])


def _padded_position(coordinate: torch.Tensor, size: int) -> torch.Tensor:
    """The pixel (a fraction) of an image with a border of one pixel, for -1 to 1; further out there is no gradient."""
    return F.hardtanh((coordinate + 1) * (size - 1) / 2 + 1, 0, size + 1)
