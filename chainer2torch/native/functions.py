"""Functions for which plain torch is only close; docs/native-helpers.md lists those for which it is equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


def softmax_cross_entropy(
    x: Tensor,
    t: Tensor,
    normalize: bool = True,
    class_weight: Any = None,
    ignore_label: int = -1,
    reduce: str = "mean",  # where: reduce
    cache_score: bool = True,  # where: cache_score
    enable_double_backprop: bool = False,  # where: enable_double_backprop
) -> Tensor:
    """F.cross_entropy that is 0 where all labels are ignored (torch: nan), and divides by the number of labels.

    torch divides by the sum of the class weights. x: (N, C, ...), t: (N, ...) integers.
    Source: chainer.functions.softmax_cross_entropy.
    """
    weight = None if class_weight is None else torch.as_tensor(class_weight, dtype=x.dtype, device=x.device)
    if reduce == "no":  # where: reduce
        return F.cross_entropy(x, t.long(), weight, ignore_index=ignore_label, reduction="none")
    total = F.cross_entropy(x, t.long(), weight, ignore_index=ignore_label, reduction="sum")
    return total / ((t != ignore_label).sum().clamp(min=1) if normalize else max(len(x), 1))


def sigmoid_cross_entropy(x: Tensor, t: Tensor, normalize: bool = True, reduce: str = "mean") -> Tensor:
    """F.binary_cross_entropy_with_logits for labels 0 and 1 that ignores -1. x and t: one shape.

    Source: chainer.functions.sigmoid_cross_entropy.
    """
    losses = F.binary_cross_entropy_with_logits(x, t.clamp(min=0).to(x.dtype), reduction="none") * (t != -1)
    if reduce == "no":
        return losses
    return losses.sum() / ((t != -1).sum().clamp(min=1) if normalize else max(len(x), 1))


def binary_accuracy(y: Tensor, t: Tensor) -> Tensor:
    """The share of right signs of y among the labels that are not -1. Source: chainer.functions.binary_accuracy."""
    return ((y >= 0) == t).sum().to(y.dtype) / (t != -1).sum().clamp(min=1)


def accuracy(y: Tensor, t: Tensor, ignore_label: int | None = None) -> Tensor:
    """The share of right labels among those that count; t: one axis less than y. Source: chainer.functions.accuracy."""
    right = y.argmax(dim=1).view_as(t) == t
    if ignore_label is None:
        return right.to(y.dtype).mean()
    counted = t != ignore_label
    return (right & counted).sum().to(y.dtype) / counted.sum().clamp(min=1)


def hinge(x: Tensor, t: Tensor, norm: str = "L1") -> Tensor:
    """One-against-all hinge loss of scores (N, C); F.multi_margin_loss is another. Source: chainer.functions.hinge."""
    sign = torch.ones_like(x)
    sign[torch.arange(len(x), device=x.device), t.long()] = -1  # a label of -1 is the last class
    losses = F.relu(1 + sign * x)
    return (losses if norm == "L1" else losses**2).sum() / len(x)


def leaky_relu(x: Tensor, slope: float = 0.2) -> Tensor:
    """F.leaky_relu with Chainer's slope, for a function that is passed on. Source: chainer.functions.leaky_relu."""
    return F.leaky_relu(x, slope)


def clipped_relu(x: Tensor, z: float = 20.0) -> Tensor:
    """relu up to z, for a function that is passed on. Source: chainer.functions.clipped_relu."""
    return F.hardtanh(x, 0.0, z)


def transpose_sequence(xs: Any) -> tuple[Tensor, ...]:
    """Sequences, the longest first, as one batch for each time step. Source: chainer.functions.transpose_sequence."""
    return tuple(torch.stack([x[i] for x in xs if len(x) > i]) for i in range(len(xs[0]) if len(xs) else 0))


def pad(x: Tensor, pad_width: Any, constant_values: float = 0) -> Tensor:
    """F.pad with NumPy's widths: one (before, after) for each axis, the first axis first, or one for all of them.

    Source: chainer.functions.pad with mode "constant".
    """
    widths = np.broadcast_to(pad_width, (x.ndim, 2))[::-1]
    return F.pad(x, widths.ravel().tolist(), value=constant_values)


class _Maximum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, axis: Any) -> Tensor:
        y = x.amax(axis, keepdim=True)
        ctx.save_for_backward(x == y)
        return y

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> Any:
        return gy * ctx.saved_tensors[0], None


def maximum_along(x: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """x.amax(axis) whose gradient goes in full to every entry that is the largest; amax shares it among them.

    Source: chainer.functions.max. F.min is -maximum_along(-x), F.maxout maximum_along(x.unflatten(1, (-1, k)), 2).
    """
    axis = tuple(range(x.ndim)) if axis is None else axis
    y: Tensor = _Maximum.apply(x, axis)  # type: ignore[no-untyped-call]
    return y if keepdims else y.squeeze(axis)


def batch_matmul(a: Tensor, b: Tensor, transa: bool = False, transb: bool = False) -> Tensor:
    """The products of a batch of matrices; two axes are column vectors. Source: chainer.functions.batch_matmul."""
    a, b = (x.unsqueeze(2) if x.ndim == 2 else x for x in (a, b))
    return torch.bmm(a.mT if transa else a, b.mT if transb else b)


def max_pool_covering(x: Tensor, ksize: Any, stride: Any = None, pad: Any = 0) -> Tensor:
    """Max pooling over 1 to 3 axes whose windows cover every pixel, as Chainer's do by default.

    torch's ceil_mode drops a last window that begins in the padding: different where pad > ksize - stride.
    Source: chainer.functions.max_pooling_2d with ``cover_all``.
    """
    sizes = x.shape[2:]
    stride = ksize if stride is None else stride
    ksizes, strides, pads = (n if isinstance(n, (tuple, list)) else [n] * len(sizes) for n in (ksize, stride, pad))
    widths = []
    for size, k, s, p in list(zip(sizes, ksizes, strides, pads))[::-1]:
        windows = (size + 2 * p - k + s - 1) // s + 1
        widths += [p, max((windows - 1) * s + k - size - p, 0)]
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(sizes) - 1]
    return pool(F.pad(x, widths, value=-float("inf")), ksize, stride)


def dropout_with_mask(x: Tensor, ratio: float = 0.5, mask: Tensor | None = None, training: bool = True) -> Any:
    """Dropout and its mask, which holds 0 and 1 / (1 - ratio) and can be given again; outside of training (x, None).

    Source: chainer.functions.dropout with ``return_mask=True``.
    """
    if not training:
        return x, None
    if mask is None:
        mask = (torch.rand_like(x) >= ratio).to(x.dtype) / (1 - ratio)
    return x * mask, mask


def lstm(c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """One step (c, h) of an LSTM from the gates' inputs (N, 4 n), which Chainer interleaves: a, i, f, o, a, i, ...

    Rows of ``c`` behind those of ``x`` go on unchanged. Source: chainer.functions.lstm.
    """
    if len(c) == len(x):  # the new c is then a step of the graph behind h, as in Chainer
        return lstm_step(c, x)
    new, h = lstm_step(c[: x.shape[0]], x)
    return torch.cat((new, c[x.shape[0] :])), h


def lstm_step(c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The same for as many rows of ``c`` as ``x`` has: h comes from that very c. Source: chainer.functions.lstm."""
    a, i, f, o = x.unflatten(1, (-1, 4)).unbind(2)
    new = torch.tanh(a) * torch.sigmoid(i) + torch.sigmoid(f) * c
    return new, torch.sigmoid(o) * torch.tanh(new)
