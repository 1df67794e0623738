"""Losses for classification and regression, with Chainer's labels, reductions and checks."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.checks import _check_float, _check_option, _check_same


def softmax_cross_entropy(
    x: torch.Tensor,
    t: torch.Tensor,
    normalize: bool = True,
    cache_score: bool = True,
    class_weight: torch.Tensor | None = None,
    ignore_label: int = -1,
    reduce: str = "mean",
    enable_double_backprop: bool = False,
    soft_target_loss: str = "cross-entropy",
) -> torch.Tensor:
    """Returns the cross entropy of softmax(x) along the second axis and the labels.

    Source: chainer.functions.softmax_cross_entropy. Unlike ``torch.nn.functional.cross_entropy``: the label -1 is
    ignored, labels may be int32, the loss is 0 when all labels are ignored, and class weights leave the divisor alone.

    Args:
        x: Scores: float tensor of shape (batch, classes, ...).
        t: Labels: integer tensor of shape (batch, ...); a negative one counts from the last class, like an index. Or
            soft targets: float tensor of the shape of ``x``, to which no gradient goes.
        normalize: Divide by the number of labels that are not ignored; else by the batch size.
        cache_score: No effect here (in Chainer it trades memory for time).
        class_weight: Float tensor of shape (classes,) that scales the loss of each class; not for soft targets.
        ignore_label: Positions with this label have a loss of 0.
        reduce: 'mean' for one number, 'no' for a tensor of shape (batch, ...).
        enable_double_backprop: No effect on gradients here. As in Chainer, labels out of range then count as the
            nearest class instead of raising.
        soft_target_loss: 'cross-entropy' or 'kl-divergence'; only for soft targets.

    Raises:
        ValueError: An option or a shape is wrong.
        RuntimeError: A label is not a class.
    """
    _check_option("softmax_cross_entropy", "soft_target_loss", soft_target_loss, ("cross-entropy", "kl-divergence"))
    _check_option("softmax_cross_entropy", "reduce", reduce, ("mean", "no"))
    _check_float("softmax_cross_entropy", x)
    if class_weight is not None:
        class_weight = _class_weight(class_weight, x)
    if t.is_floating_point():
        return _soft_target_loss(x, t, ignore_label, reduce, soft_target_loss)
    if t.shape != x.shape[:1] + x.shape[2:]:
        raise ValueError(f"labels of shape {tuple(t.shape)} do not fit scores of shape {tuple(x.shape)}")
    valid = t != ignore_label
    labels = torch.where(valid, t, 0).long()
    if enable_double_backprop:
        labels = labels.clamp(0, x.shape[1] - 1)
    labels = torch.where(labels < 0, labels + x.shape[1], labels)
    loss = -F.log_softmax(x, dim=1).gather(1, labels.unsqueeze(1)).squeeze(1)
    if class_weight is not None:
        loss = loss * class_weight[labels]
    loss = torch.where(valid, loss, 0)
    if reduce == "no":
        return loss
    count = valid.sum() if normalize else torch.tensor(len(x), device=x.device)
    return loss.sum() / count.clamp(min=1).to(x.dtype)


def _class_weight(class_weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    class_weight = torch.as_tensor(class_weight, device=x.device)
    if class_weight.ndim != 1 or not class_weight.is_floating_point():
        raise ValueError("class_weight must be a float tensor with one axis")
    return class_weight.to(x.dtype)


def _soft_target_loss(x: torch.Tensor, t: torch.Tensor, ignore_label: int, reduce: str, kind: str) -> torch.Tensor:
    if t.shape != x.shape:
        raise ValueError(f"soft targets must have the shape {tuple(x.shape)} of the scores, not {tuple(t.shape)}")
    t = t.detach()
    loss = _SoftTargetLoss.apply(x, t, ignore_label, kind)
    return loss if reduce == "no" else loss.sum() / (x.numel() / x.shape[1])


class _SoftTargetLoss(torch.autograd.Function):
    """The loss for each position. Its gradient is softmax(x) - t, which takes for granted that t sums to 1."""

    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, t: torch.Tensor, ignore_label: int, kind: str) -> torch.Tensor:
        log_y = F.log_softmax(x, dim=1)
        ctx.save_for_backward(x, t * (t != ignore_label))
        if kind == "kl-divergence":
            return (t * (torch.log(t + 1e-7) - log_y)).sum(dim=1)
        return -(t * log_y).sum(dim=1)

    @staticmethod
    def backward(ctx: Any, gy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, t = ctx.saved_tensors
        return (F.softmax(x, dim=1) - t) * gy.unsqueeze(1), None, None, None


def sigmoid_cross_entropy(
    x: torch.Tensor, t: torch.Tensor, normalize: bool = True, reduce: str = "mean"
) -> torch.Tensor:
    """Returns the cross entropy of sigmoid(x) and labels 0 or 1, where the label -1 is ignored.

    Source: chainer.functions.sigmoid_cross_entropy.

    Args:
        x: Scores: float tensor.
        t: Labels: integer tensor of the same shape.
        normalize: Divide by the number of labels that are not ignored (at least 1); else by the batch size.
        reduce: 'mean' for one number, 'no' for a tensor of the shape of ``x``.

    Raises:
        ValueError: The shapes differ, or an option is wrong.
        TypeError: ``x`` is not of a float dtype, or ``t`` of one.
    """
    _check_option("sigmoid_cross_entropy", "reduce", reduce, ("mean", "no"))
    _check_float("sigmoid_cross_entropy", x)
    if t.is_floating_point():
        raise TypeError("sigmoid_cross_entropy: the labels must be of an integer dtype")
    if x.shape != t.shape:
        raise ValueError(f"sigmoid_cross_entropy: shapes must be equal, not {tuple(x.shape)} and {tuple(t.shape)}")
    valid = t != -1
    loss = F.binary_cross_entropy_with_logits(x, t.to(x.dtype), reduction="none") * valid
    if reduce == "no":
        return loss
    count = valid.sum() if normalize else torch.tensor(len(x), device=x.device)
    return loss.sum() / count.clamp(min=1).to(x.dtype)


def mean_squared_error(x0: torch.Tensor, x1: torch.Tensor) -> torch.Tensor:
    """Returns the mean of ``(x0 - x1) ** 2`` over all elements. Source: chainer.functions.mean_squared_error.

    Raises:
        ValueError: The shapes differ (``torch.nn.functional.mse_loss`` would broadcast).
        TypeError: The dtypes differ.
    """
    _check_same("mean_squared_error", x0, x1)
    return F.mse_loss(x0, x1)


def mean_absolute_error(x0: torch.Tensor, x1: torch.Tensor) -> torch.Tensor:
    """Returns the mean of ``abs(x0 - x1)`` over all elements. Source: chainer.functions.mean_absolute_error.

    Raises:
        ValueError: The shapes differ (``torch.nn.functional.l1_loss`` would broadcast).
        TypeError: The dtypes differ.
    """
    _check_same("mean_absolute_error", x0, x1)
    return F.l1_loss(x0, x1)


def absolute_error(x0: torch.Tensor, x1: torch.Tensor) -> torch.Tensor:
    """Returns ``abs(x0 - x1)`` of each element. Source: chainer.functions.absolute_error.

    Raises:
        ValueError: The shapes differ.
        TypeError: The dtypes differ.
    """
    _check_same("absolute_error", x0, x1)
    return torch.abs(x0 - x1)


def squared_error(x0: torch.Tensor, x1: torch.Tensor) -> torch.Tensor:
    """Returns ``(x0 - x1) ** 2`` of each element. Source: chainer.functions.squared_error.

    Raises:
        ValueError: The shapes differ.
        TypeError: The dtypes differ.
    """
    _check_same("squared_error", x0, x1)
    return torch.square(x0 - x1)


def squared_difference(x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
    """Returns ``(x1 - x2) ** 2`` of each element: another name of :func:`squared_error`."""
    return squared_error(x1, x2)


def huber_loss(x: torch.Tensor, t: torch.Tensor, delta: float, reduce: str = "sum_along_second_axis") -> torch.Tensor:
    """Returns half the squared error, from an error of ``delta`` on continued by a line.

    Source: chainer.functions.huber_loss.

    Args:
        x: Float tensor of shape (batch, n, ...).
        t: Float tensor of the same shape and dtype.
        delta: Where the line begins.
        reduce: 'sum_along_second_axis' or 'no'.

    Raises:
        ValueError: The shapes differ, or an option is wrong.
        TypeError: The dtypes differ.
    """
    _check_option("huber_loss", "reduce", reduce, ("sum_along_second_axis", "no"))
    _check_same("huber_loss", x, t)
    loss = F.huber_loss(x, t, reduction="none", delta=delta)
    return loss.sum(dim=1) if reduce == "sum_along_second_axis" else loss


def hinge(x: torch.Tensor, t: torch.Tensor, norm: str = "L1", reduce: str = "mean") -> torch.Tensor:
    """Returns the one-against-all hinge loss: ``max(0, 1 - x)`` of the labelled class, ``max(0, 1 + x)`` of the others.

    Source: chainer.functions.hinge.

    Args:
        x: Scores: float tensor of shape (batch, classes).
        t: Labels: integer tensor of shape (batch,).
        norm: 'L1', or 'L2' to square each term.
        reduce: 'mean' for the sum over all terms divided by the batch size, 'no' for all terms.

    Raises:
        NotImplementedError: ``norm`` is wrong.
        ValueError: ``reduce`` or a shape is wrong.
    """
    if norm not in ("L1", "L2"):
        raise NotImplementedError("norm must be 'L1' or 'L2'")
    _check_option("hinge", "reduce", reduce, ("mean", "no"))
    _check_float("hinge", x)
    if x.ndim != 2 or t.shape != x.shape[:1] or t.is_floating_point():
        raise ValueError("hinge needs scores of shape (batch, classes) and integer labels of shape (batch,)")
    sign = torch.ones_like(x)
    sign[torch.arange(len(x), device=x.device), t.long()] = -1
    loss = torch.relu(1 + sign * x)
    if norm == "L2":
        loss = loss**2
    return loss.sum() / len(x) if reduce == "mean" else loss
