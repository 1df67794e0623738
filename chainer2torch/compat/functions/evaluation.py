"""Scores of predictions. None of them has a gradient."""

import torch

from chainer2torch.compat.functions.checks import _check_float, _check_option


@torch.no_grad()
def accuracy(y: torch.Tensor, t: torch.Tensor, ignore_label: int | None = None) -> torch.Tensor:
    """Returns the fraction of labels that are the index of the largest score along the second axis.

    Source: chainer.functions.accuracy.

    Args:
        y: Scores: float tensor of shape (batch, classes, ...).
        t: Labels: integer tensor of shape (batch, ...).
        ignore_label: Positions with this label do not count. When none is left the result is 0.

    Returns:
        Tensor without axes, of the dtype of ``y``.

    Raises:
        ValueError: The shapes do not fit.
        TypeError: ``y`` is not of a float dtype, or ``t`` of one.
    """
    _check_labels("accuracy", y, t)
    right = y.argmax(dim=1).reshape(t.shape) == t
    if ignore_label is None:
        return right.to(y.dtype).mean()
    counted = t != ignore_label
    return ((right & counted).sum().double() / counted.sum().clamp(min=1)).to(y.dtype)


@torch.no_grad()
def binary_accuracy(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Returns the fraction of labels (0 or 1) that agree with ``y >= 0``; the label -1 does not count.

    Source: chainer.functions.binary_accuracy.

    Args:
        y: Scores: float tensor.
        t: Labels: integer tensor of the same shape.

    Returns:
        Tensor without axes, of the dtype of ``y``; 0 when no label counts.
    """
    _check_float("binary_accuracy", y)
    if t.is_floating_point():
        raise TypeError("binary_accuracy: the labels must be of an integer dtype")
    if y.shape != t.shape:
        raise ValueError(f"binary_accuracy: shapes must be equal, not {tuple(y.shape)} and {tuple(t.shape)}")
    right = ((y >= 0) == t).sum().double()
    return (right / (t != -1).sum().clamp(min=1)).to(y.dtype)


@torch.no_grad()
def classification_summary(
    y: torch.Tensor, t: torch.Tensor, label_num: int | None = None, beta: float = 1.0, ignore_label: int = -1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns precision, recall, F-beta score and support (number of true labels) of every class.

    Source: chainer.functions.classification_summary. A class that never occurs has nan where it divides by zero.

    Args:
        y: Scores: float tensor of shape (batch, classes, ...).
        t: Labels: integer tensor of shape (batch, ...).
        label_num: Number of classes; by default the largest label plus 1.
        beta: Weight of the recall in the F-beta score.
        ignore_label: Positions with this label do not count.

    Returns:
        Three float64 tensors and an int64 tensor, each of shape (label_num,).
    """
    _check_labels("classification_summary", y, t)
    n = int(t.max()) + 1 if label_num is None else label_num
    # The class number n collects what does not count, and is cut off.
    ignored = (t == ignore_label).reshape(-1)
    predicted = y.argmax(dim=1).reshape(-1).masked_fill(ignored, n)
    true = t.reshape(-1).long().masked_fill(ignored, n)
    support = torch.bincount(true, minlength=n + 1)[:n]
    relevant = torch.bincount(predicted, minlength=n + 1)[:n]
    hits = torch.bincount(torch.where(predicted == true, true, n), minlength=n + 1)[:n].double()
    precisions, recalls = hits / relevant, hits / support
    f_beta = (1 + beta * beta) * precisions * recalls / (beta * beta * precisions + recalls)
    return precisions, recalls, f_beta, support


def precision(
    y: torch.Tensor, t: torch.Tensor, label_num: int | None = None, ignore_label: int = -1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns precision and support of every class; see :func:`classification_summary`."""
    summary = classification_summary(y, t, label_num, 1.0, ignore_label)
    return summary[0], summary[3]


def recall(
    y: torch.Tensor, t: torch.Tensor, label_num: int | None = None, ignore_label: int = -1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns recall and support of every class; see :func:`classification_summary`."""
    summary = classification_summary(y, t, label_num, 1.0, ignore_label)
    return summary[1], summary[3]


def f1_score(
    y: torch.Tensor, t: torch.Tensor, label_num: int | None = None, ignore_label: int = -1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns F1 score and support of every class; see :func:`classification_summary`."""
    summary = classification_summary(y, t, label_num, 1.0, ignore_label)
    return summary[2], summary[3]


@torch.no_grad()
def r2_score(
    pred: torch.Tensor, true: torch.Tensor, sample_weight: None = None, multioutput: str = "uniform_average"
) -> torch.Tensor:
    """Returns the coefficient of determination; where the true values do not vary it is 0.

    Source: chainer.functions.r2_score.

    Args:
        pred: Predictions: float tensor of shape (batch, ...).
        true: True values: float tensor of the same shape.
        sample_weight: Must be None, as in Chainer.
        multioutput: 'uniform_average' (mean over all outputs) or 'raw_values' (one for each).
    """
    if sample_weight is not None:
        raise NotImplementedError("r2_score: sample_weight")
    _check_option("r2_score", "multioutput", multioutput, ("uniform_average", "raw_values"))
    _check_float("r2_score", pred)
    _check_float("r2_score", true)
    if pred.shape != true.shape:
        raise ValueError(f"r2_score: shapes must be equal, not {tuple(pred.shape)} and {tuple(true.shape)}")
    residual = ((pred - true) ** 2).sum(dim=0)
    total = ((true - true.mean(dim=0)) ** 2).sum(dim=0)
    scores = torch.where(total == 0, 0.0, 1 - residual / torch.where(total == 0, 1, total)).to(pred.dtype)
    return scores.mean() if multioutput == "uniform_average" else scores


def _check_labels(name: str, y: torch.Tensor, t: torch.Tensor) -> None:
    """Raises unless labels `t` of shape (batch, ...) fit scores `y` of shape (batch, classes, ...), as Chainer does."""
    _check_float(name, y)
    if t.is_floating_point():
        raise TypeError(f"{name}: the labels must be of an integer dtype, not {t.dtype}")
    fits = (
        y.ndim >= t.ndim
        and y.shape[:1] == t.shape[:1]
        and y.shape[2 : t.ndim + 1] == t.shape[1:]
        and all(n == 1 for n in y.shape[t.ndim + 1 :])
    )
    if not fits:
        raise ValueError(f"{name}: labels of shape {tuple(t.shape)} do not fit scores of shape {tuple(y.shape)}")
