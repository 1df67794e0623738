"""Functions that spread each element over a window: what overlaps is added, and the size may be said."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor


def _pair(value: Any) -> tuple[int, int]:
    rows, columns = value if hasattr(value, "__len__") else (value, value)
    return rows, columns


def _part(y: Tensor, pad: Any, size: Any) -> Tensor:
    """What of a result lies behind its padding; zeros where it is too small."""
    (top, left), (height, width) = _pair(pad), size
    return F.pad(y, (-left, left + width - y.shape[3], -top, top + height - y.shape[2]))


def unpooling_2d(
    x: Tensor, ksize: Any, stride: Any = None, pad: Any = 0, outsize: Any = None, cover_all: bool = True
) -> Tensor:
    """Each element in all places of its window. Source: chainer.functions.unpooling_2d."""
    kernel, pads = _pair(ksize), _pair(pad)
    steps = kernel if stride is None else _pair(stride)
    whole = tuple(s * (n - 1) + k for n, k, s in zip(x.shape[2:], kernel, steps))
    if outsize is None:
        outsize = [n - (s - 1 if cover_all else 0) - 2 * p for n, s, p in zip(whole, steps, pads)]
    repeats = steps == kernel and all(o == k * (n - p) for o, k, n, p in zip(outsize, kernel, x.shape[2:], pads))
    if repeats and any(pads) and not any(p % 2 for p in pads):  # Chainer leaves half the padding away then
        inner = _part(x, (pads[0] // 2, pads[1] // 2), [n - p for n, p in zip(x.shape[2:], pads)])
        return unpooling_2d(inner, kernel, outsize=outsize)
    columns = x.flatten(2).repeat_interleave(kernel[0] * kernel[1], 1)
    return _part(F.fold(columns, whole, kernel, stride=steps), pads, outsize)


def deconvolution_2d(
    x: Tensor,
    W: Tensor,
    b: Tensor | None = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    *,
    dilate: Any = 1,
    groups: int = 1,
) -> Tensor:
    """A transposed convolution of a size that may be said. Source: chainer.functions.deconvolution_2d."""
    whole = F.conv_transpose2d(x, W, None, stride, groups=groups, dilation=dilate)
    fitting = [n - 2 * p for n, p in zip(whole.shape[2:], _pair(pad))]
    size = [n if given is None else given for n, given in zip(fitting, outsize or (None, None))]
    y = _part(whole, pad, size)
    return y if b is None else y + b.reshape(-1, 1, 1)
