"""Losses on label sequences, and losses that sample words."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.checks import _check_float, _check_option
from chainer2torch.compat.functions.math_reduce import amax


def connectionist_temporal_classification(
    x: Sequence[torch.Tensor],
    t: torch.Tensor,
    blank_symbol: int,
    input_length: torch.Tensor | None = None,
    label_length: torch.Tensor | None = None,
    reduce: str = "mean",
) -> torch.Tensor:
    """Returns the CTC loss of scores (before the softmax).

    Source: chainer.functions.connectionist_temporal_classification.

    Unlike ``torch.nn.functional.ctc_loss`` the mean is over the batch alone, the blank may be among the labels, and a
    label sequence that is too long for its input costs 1e10 instead of infinity. It has no gradient here; Chainer's,
    next to numbers of that size, is made of rounding errors.

    Args:
        x: One float tensor of shape (batch, classes) for each time.
        t: Labels: integer tensor of shape (batch, longest label sequence).
        blank_symbol: The class that stands for no label.
        input_length: Integer tensor of shape (batch,): times that count. By default all.
        label_length: Integer tensor of shape (batch,): labels that count. By default all.
        reduce: 'mean', or 'no' for a tensor of shape (batch,).

    Raises:
        TypeError: ``x`` is not a sequence of tensors, or ``blank_symbol`` not an int.
        ValueError: An option is wrong.
    """
    if not isinstance(x, Sequence):
        raise TypeError("x must be a list of tensors")
    if not isinstance(blank_symbol, int):
        raise TypeError("blank_symbol must be an int")
    _check_option("connectionist_temporal_classification", "reduce", reduce, ("mean", "no"))
    scores = torch.stack(tuple(x))
    if not 0 <= blank_symbol < scores.shape[2]:
        raise ValueError(f"blank_symbol {blank_symbol} is not one of {scores.shape[2]} classes")
    batch = scores.shape[1]
    if input_length is None:
        input_length = torch.full((batch,), len(scores), device=scores.device)
    if label_length is None:
        label_length = torch.full((batch,), t.shape[1], device=scores.device)
    log_y = F.log_softmax(scores, dim=2)
    t, input_length, label_length = t.long(), input_length.long(), label_length.long()
    used = torch.arange(t.shape[1], device=t.device) < label_length[:, None]
    if bool((used & ((t < 0) | (t >= scores.shape[2]))).any()):  # torch would read beyond its memory
        raise ValueError(f"a label is not one of {scores.shape[2]} classes")
    repeated = (t[:, 1:] == t[:, :-1]) & used[:, 1:]  # these need a blank between them
    too_long = input_length < label_length + repeated.sum(dim=1)
    if bool((used & (t == blank_symbol)).any()):
        loss = _ctc_by_steps(log_y, t.masked_fill(~used, blank_symbol), blank_symbol, input_length, label_length)
    else:
        loss = F.ctc_loss(
            log_y, t, input_length, label_length, blank=blank_symbol, reduction="none", zero_infinity=True
        )
    loss = torch.where(too_long, 1e10, loss)
    return loss.mean() if reduce == "mean" else loss


def _ctc_by_steps(
    log_y: torch.Tensor, t: torch.Tensor, blank: int, input_length: torch.Tensor, label_length: torch.Tensor
) -> torch.Tensor:
    """Returns the CTC losses, slower than PyTorch, whose gradient is wrong for a blank among the labels."""
    impossible = -1e10  # not infinite, so that no gradient is nan
    batch, width = len(t), 2 * t.shape[1] + 1
    path = torch.full((batch, width), blank, device=t.device)  # blanks before, between and after the labels
    path[:, 1::2] = t
    position = torch.arange(width, device=t.device)
    may_skip = torch.zeros_like(path, dtype=torch.bool)
    may_skip[:, 2:] = path[:, 2:] != path[:, :-2]
    alpha = torch.full((batch, width), impossible, dtype=log_y.dtype, device=log_y.device)
    alpha[:, 0] = 0
    for step, log_p in enumerate(log_y):
        shifted = F.pad(alpha, (2, 0), value=impossible)
        skipped = torch.where(may_skip, shifted[:, :-2], impossible)
        arrived = torch.logsumexp(torch.stack([alpha, shifted[:, 1:-1], skipped]), dim=0)
        following = arrived + log_p.gather(1, path)
        alpha = torch.where(step < input_length[:, None], following, alpha)
    # what lies beyond the last label is computed, too, and nothing leads back from there
    last = (position == 2 * label_length[:, None]) | (position == 2 * label_length[:, None] - 1)
    return -torch.logsumexp(torch.where(last, alpha, impossible), dim=1)


def crf1d(
    cost: torch.Tensor, xs: Sequence[torch.Tensor], ys: Sequence[torch.Tensor], reduce: str = "mean"
) -> torch.Tensor:
    """Returns the negative log-likelihood of label sequences in a linear-chain conditional random field.

    Source: chainer.functions.crf1d.

    Args:
        cost: Transition scores: float tensor of shape (labels, labels), from the row's label to the column's.
        xs: For each time a float tensor of shape (batch, labels). The batch may shrink from time to time: the
            sequences are sorted by falling length.
        ys: For each time the labels: integer tensors of shape (batch,).
        reduce: 'mean' over the sequences, or 'no' for a tensor of shape (batch,).

    Raises:
        ValueError: ``reduce`` or a shape is wrong.
    """
    _check_option("crf1d", "reduce", reduce, ("mean", "no"))
    if xs[0].shape[1] != cost.shape[0]:
        raise ValueError(f"scores of {xs[0].shape[1]} labels do not fit transitions of {cost.shape[0]}")
    alpha, score = xs[0], _pick(xs[0], ys[0])
    done_alpha: list[torch.Tensor] = []
    done_score: list[torch.Tensor] = []
    previous = ys[0]
    for x, y in zip(xs[1:], ys[1:], strict=True):
        batch = len(x)
        if len(alpha) > batch:  # the sequences at the end of the batch are over
            done_alpha.insert(0, alpha[batch:])
            done_score.insert(0, score[batch:])
            alpha, score, previous = alpha[:batch], score[:batch], previous[:batch]
        alpha = torch.logsumexp(alpha[:, :, None] + cost, dim=1) + x
        score = score + _pick(x, y) + cost[previous.long(), y.long()]
        previous = y
    logz = torch.logsumexp(torch.cat([alpha, *done_alpha]), dim=1)
    loss = logz - torch.cat([score, *done_score])
    return loss.sum() / len(xs[0]) if reduce == "mean" else loss


def argmax_crf1d(cost: torch.Tensor, xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Returns the score of the best label sequences and, for each time, their labels.

    Source: chainer.functions.argmax_crf1d.

    Args:
        cost: Transition scores, see :func:`crf1d`.
        xs: Scores of each time, see :func:`crf1d`.

    Returns:
        A float tensor of shape (batch,) and a list of int32 tensors, whose lengths are those of ``xs``.
    """
    alpha = xs[0]
    back: list[torch.Tensor] = []
    ends: list[torch.Tensor | None] = []
    for x in xs[1:]:
        batch = len(x)
        ends.append(alpha[batch:] if len(alpha) > batch else None)
        scores = alpha[:batch, :, None] + cost
        back.append(scores.argmax(dim=1))
        alpha = amax(scores, axis=1) + x
    labels = alpha.argmax(dim=1)
    score = amax(alpha, axis=1)
    path = [labels.int()]
    for pointers, end in zip(reversed(back), reversed(ends), strict=True):
        labels = _pick(pointers, labels)
        if end is not None:
            labels = torch.cat([labels, end.argmax(dim=1)])
            score = torch.cat([score, amax(end, axis=1)])
        path.append(labels.int())
    return score, path[::-1]


def _pick(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Returns x[i, t[i]] for each i."""
    return x.gather(1, t.long()[:, None]).squeeze(1)


def negative_sampling(
    x: torch.Tensor,
    t: torch.Tensor,
    W: torch.Tensor,
    sampler: Callable[[tuple[int, int]], torch.Tensor],
    sample_size: int,
    reduce: str = "sum",
    *,
    return_samples: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Returns the negative sampling loss of word vectors. Source: chainer.functions.negative_sampling.

    Args:
        x: Float tensor of shape (batch, n).
        t: Labels: integer tensor of shape (batch,); positions with -1 are ignored.
        W: Word vectors: float tensor of shape (words, n).
        sampler: Called with a shape, returns integers (tensor or array): words drawn at random.
        sample_size: Number of negative samples for each example.
        reduce: 'sum', or 'no' for a tensor of shape (batch,).
        return_samples: Return the pair of the loss and the samples of shape (batch, sample_size + 1), labels first.
    """
    _check_option("negative_sampling", "reduce", reduce, ("sum", "no"))
    _check_float("negative_sampling", x)
    samples = torch.as_tensor(sampler((len(t), sample_size + 1)), device=x.device).clone()
    samples[:, 0] = t
    valid = t != -1
    words = torch.where(valid[:, None], samples, 0).long()
    score = torch.einsum("ij,ikj->ik", x, W[words])
    sign = torch.ones(sample_size + 1, dtype=x.dtype, device=x.device)
    sign[0] = -1
    loss = torch.logaddexp(score * sign, torch.zeros_like(score)).sum(dim=1) * valid
    if reduce == "sum":
        loss = loss.sum()
    return (loss, samples) if return_samples else loss


def black_out(
    x: torch.Tensor, t: torch.Tensor, W: torch.Tensor, samples: torch.Tensor, reduce: str = "mean"
) -> torch.Tensor:
    """Returns the BlackOut loss of word vectors. Source: chainer.functions.black_out.

    Args:
        x: Float tensor of shape (batch, n).
        t: Labels: integer tensor of shape (batch,).
        W: Word vectors: float tensor of shape (words, n).
        samples: Negative samples: integer tensor of shape (batch, sample size).
        reduce: 'mean'; anything else gives a tensor of shape (batch,).
    """
    negative = torch.matmul(W[samples.long()], x[:, :, None]).squeeze(2)
    positive = torch.matmul(W[t.long()][:, None], x[:, :, None]).squeeze(2)
    logz = torch.logsumexp(torch.cat([positive, negative], dim=1), dim=1)
    others = torch.log(1 - torch.exp(negative - logz[:, None]))
    loss = -(positive.squeeze(1) - logz + others.sum(dim=1))
    return loss.mean() if reduce == "mean" else loss
