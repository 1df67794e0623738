"""Pooling over regions of interest (chainer.functions.roi_*)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import torch

from chainer2torch.compat.functions.windows import per_axis


def roi_pooling_2d(x: torch.Tensor, rois: torch.Tensor, outh: int, outw: int, spatial_scale: float) -> torch.Tensor:
    """Maxima over the bins of each region.

    Args:
        x: float tensor of shape (n, c, h, w).
        rois: shape (r, 5): number of the image, x_min, y_min, x_max, y_max (included), of the dtype of ``x``.
        outh, outw: the number of bins.
        spatial_scale: what the coordinates are multiplied by.
    Returns:
        Shape (r, c, outh, outw); a bin without a pixel is zero.
    Source: chainer.functions.roi_pooling_2d.
    """
    _check_regions(x, rois, 5)
    result = []
    for number, corners in zip(rois[:, 0].tolist(), (rois[:, 1:] * spatial_scale).tolist(), strict=True):
        left, top, right, bottom = (round(corner) for corner in corners)
        # For a region that is inside out Chainer computes no gradient.
        image = x[int(number)] if right >= left and bottom >= top else x[int(number)].detach()
        rows = _bins(top, max(bottom - top + 1, 1), outh, x.shape[2])
        columns = _bins(left, max(right - left + 1, 1), outw, x.shape[3])
        result.append(_over_bins(image, rows, columns, _first_maximum, 0.0))
    return _stack_regions(result, x, outh, outw)


def roi_max_pooling_2d(
    x: torch.Tensor, rois: torch.Tensor, roi_indices: torch.Tensor, outsize: Any, spatial_scale: float
) -> torch.Tensor:
    """Maxima over the bins of each region.

    Args:
        x: float tensor of shape (n, c, h, w).
        rois: shape (r, 4): y_min, x_min, y_max, x_max (not included), of the dtype of ``x``.
        roi_indices: integers of shape (r,), the number of each region's image.
        outsize: the number of bins, one or a pair.
        spatial_scale: what the coordinates are multiplied by.
    Returns:
        Shape (r, c, outh, outw); a bin without a pixel is minus infinity.
    Raises:
        TypeError: ``outsize`` or ``spatial_scale`` is not positive.
    Source: chainer.functions.roi_max_pooling_2d.
    """
    return _pool_regions(x, rois, roi_indices, outsize, spatial_scale, _first_maximum, -math.inf)


def roi_average_pooling_2d(
    x: torch.Tensor, rois: torch.Tensor, roi_indices: torch.Tensor, outsize: Any, spatial_scale: float
) -> torch.Tensor:
    """Means over the bins of each region; arguments as in :func:`roi_max_pooling_2d`.

    Returns:
        Shape (r, c, outh, outw); a bin without a pixel is zero.
    Source: chainer.functions.roi_average_pooling_2d.
    """
    return _pool_regions(x, rois, roi_indices, outsize, spatial_scale, lambda pixels: pixels.mean(dim=1), 0.0)


def roi_max_align_2d(
    x: torch.Tensor,
    rois: torch.Tensor,
    roi_indices: torch.Tensor,
    outsize: Any,
    spatial_scale: float,
    sampling_ratio: Any = None,
) -> torch.Tensor:
    """Maxima over points that are sampled bilinearly in the bins of each region.

    Args:
        x, rois, roi_indices, outsize, spatial_scale: as in :func:`roi_max_pooling_2d`, without rounding.
        sampling_ratio: points a bin along each axis, one number or a pair; None: as many as the bin has pixels,
            rounded up.
    Returns:
        Shape (r, c, outh, outw); a bin without a point in the image is minus infinity.
    Raises:
        TypeError: ``outsize``, ``spatial_scale`` or ``sampling_ratio`` is not positive.
    Source: chainer.functions.roi_max_align_2d (which takes float32 only).
    """

    def maximum(samples: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        samples = samples.masked_fill(~inside, -math.inf)
        return samples.gather(-1, samples.argmax(dim=-1, keepdim=True)).squeeze(-1)

    return _align_regions(x, rois, roi_indices, outsize, spatial_scale, sampling_ratio, maximum)


def roi_average_align_2d(
    x: torch.Tensor,
    rois: torch.Tensor,
    roi_indices: torch.Tensor,
    outsize: Any,
    spatial_scale: float,
    sampling_ratio: Any = None,
) -> torch.Tensor:
    """Means over points that are sampled bilinearly in the bins of each region; outside the image they are zero.

    Arguments, result and errors as in :func:`roi_max_align_2d`.

    Source: chainer.functions.roi_average_align_2d (which takes float32 only).
    """

    def mean(samples: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        return samples.masked_fill(~inside, 0).mean(dim=-1)

    return _align_regions(x, rois, roi_indices, outsize, spatial_scale, sampling_ratio, mean)


def _check_regions(x: torch.Tensor, rois: torch.Tensor, columns: int) -> None:
    if x.dim() != 4 or rois.dim() != 2 or rois.shape[1] != columns or x.dtype != rois.dtype:
        raise TypeError(
            f"x must be (n, c, h, w) and rois (r, {columns}) of the same dtype, "
            f"not {tuple(x.shape)} {x.dtype} and {tuple(rois.shape)} {rois.dtype}"
        )


def _bin_counts(outsize: Any, spatial_scale: float) -> tuple[int, ...]:
    counts = per_axis(outsize, 2)
    if not all(isinstance(count, numbers.Integral) and count > 0 for count in counts):
        raise TypeError(f"outsize must be positive integers: {outsize}")
    if not spatial_scale > 0:
        raise TypeError(f"spatial_scale must be a positive float number: {spatial_scale}")
    return counts


def _stack_regions(result: list[torch.Tensor], x: torch.Tensor, outh: int, outw: int) -> torch.Tensor:
    return torch.stack(result) if result else x.new_zeros(0, x.shape[1], outh, outw)


def _bins(start: int, length: int, n_bins: int, limit: int) -> list[slice]:
    """The pixels of each bin of an axis, cut off at the border of the image."""
    step = length / n_bins
    edges = [(math.floor(i * step) + start, math.ceil((i + 1) * step) + start) for i in range(n_bins)]
    return [slice(min(max(first, 0), limit), min(max(last, 0), limit)) for first, last in edges]


def _over_bins(
    image: torch.Tensor, rows: Iterable[slice], columns: list[slice], reduce: Any, empty: float
) -> torch.Tensor:
    channels = image.shape[0]
    lines = []
    for row in rows:
        bins = [image[:, row, column].reshape(channels, -1) for column in columns]
        lines.append(
            torch.stack(
                [reduce(pixels) if pixels.shape[1] else image.new_full((channels,), empty) for pixels in bins], dim=1
            )
        )
    return torch.stack(lines, dim=1)


def _first_maximum(pixels: torch.Tensor) -> torch.Tensor:
    # Not `amax`, which divides the gradient among equal pixels.
    return pixels.gather(1, pixels.argmax(dim=1, keepdim=True)).squeeze(1)


def _pool_regions(
    x: torch.Tensor,
    rois: torch.Tensor,
    roi_indices: torch.Tensor,
    outsize: Any,
    spatial_scale: float,
    reduce: Any,
    empty: float,
) -> torch.Tensor:
    _check_regions(x, rois, 4)
    outh, outw = _bin_counts(outsize, spatial_scale)
    result = []
    for number, corners in zip(roi_indices.tolist(), (rois * spatial_scale).tolist(), strict=True):
        top, left, bottom, right = (round(corner) for corner in corners)
        rows = _bins(top, max(bottom - top, 1), outh, x.shape[2])
        columns = _bins(left, max(right - left, 1), outw, x.shape[3])
        result.append(_over_bins(x[number], rows, columns, reduce, empty))
    return _stack_regions(result, x, outh, outw)


def _align_regions(
    x: torch.Tensor,
    rois: torch.Tensor,
    roi_indices: torch.Tensor,
    outsize: Any,
    spatial_scale: float,
    sampling_ratio: Any,
    reduce: Any,
) -> torch.Tensor:
    _check_regions(x, rois, 4)
    outh, outw = _bin_counts(outsize, spatial_scale)
    ratios = per_axis(sampling_ratio, 2)
    if any(ratio is not None and ratio < 1 for ratio in ratios):
        raise TypeError(f"sampling_ratio must be integer >= 1 or a pair of it: {sampling_ratio}")
    result = []
    for number, corners in zip(roi_indices.tolist(), rois * spatial_scale, strict=True):
        rows, rows_inside, n_rows = _points(corners[0], corners[2], outh, ratios[0], x.shape[2])
        columns, columns_inside, n_columns = _points(corners[1], corners[3], outw, ratios[1], x.shape[3])
        samples = rows @ x[number] @ columns.T
        inside = rows_inside[:, None] & columns_inside

        def by_bin(points: torch.Tensor, shape: tuple[int, ...] = (outh, n_rows, outw, n_columns)) -> torch.Tensor:
            return points.reshape(-1, *shape).transpose(2, 3).flatten(3)

        result.append(reduce(by_bin(samples), by_bin(inside)))
    return _stack_regions(result, x, outh, outw)


def _points(
    start: torch.Tensor, end: torch.Tensor, n_bins: int, ratio: int | None, limit: int
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """The sampled points of an axis: their bilinear weights (points, pixels), which are inside, how many a bin."""
    step = (end - start).clamp(min=1) / n_bins
    n_points = math.ceil(step.item()) if ratio is None else ratio
    options = {"dtype": start.dtype, "device": start.device}
    bins = torch.arange(n_bins, **options)[:, None]  # type: ignore[call-overload]
    within = torch.arange(n_points, **options)  # type: ignore[call-overload]
    position = (start + bins * step + (within + 0.5) * step / n_points).reshape(-1)
    inside = (position >= -1) & (position <= limit)
    position = position.clamp(0, limit - 1)
    pixels = torch.arange(limit, **options)  # type: ignore[call-overload]
    return (1 - (position[:, None] - pixels).abs()).clamp(min=0), inside, n_points
