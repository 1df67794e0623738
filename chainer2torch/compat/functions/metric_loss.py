"""Losses on distances, covariances and distributions of representations."""

import math

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.checks import _check_float, _check_option, _check_same


def contrastive(
    x0: torch.Tensor, x1: torch.Tensor, y: torch.Tensor, margin: float = 1, reduce: str = "mean"
) -> torch.Tensor:
    """Returns half of ``distance ** 2`` for pairs with y = 1, of ``max(0, margin - distance) ** 2`` with y = 0.

    Source: chainer.functions.contrastive.

    Args:
        x0: Float tensor of shape (batch, n).
        x1: Float tensor of the same shape and dtype.
        y: Integer tensor of shape (batch,).
        margin: Positive distance from which on unequal pairs cost nothing.
        reduce: 'mean', or 'no' for a tensor of shape (batch,).

    Raises:
        ValueError: An option or a shape is wrong.
        TypeError: The dtypes differ.
    """
    if margin <= 0:
        raise ValueError("margin must be positive")
    _check_option("contrastive", "reduce", reduce, ("mean", "no"))
    _check_same("contrastive", x0, x1)
    if x0.ndim != 2 or len(x0) == 0 or y.shape != x0.shape[:1]:
        raise ValueError("contrastive needs inputs of shape (batch, n) and labels of shape (batch,)")
    squared = ((x0 - x1) ** 2).sum(dim=1)
    loss = (y * squared + (1 - y) * torch.relu(margin - _distance(squared)) ** 2) * 0.5
    return loss.mean() if reduce == "mean" else loss


def _distance(squared: torch.Tensor) -> torch.Tensor:
    """Returns the square root, whose gradient below a tiny distance is that at the tiny distance: never infinite."""
    tiny = 0.005 if squared.dtype == torch.float16 else 1e-7
    near = squared < tiny**2
    distance = torch.sqrt(torch.where(near, 1, squared))
    line = squared / (2 * tiny)
    return torch.where(near, line + (torch.sqrt(squared) - line).detach(), distance)


def triplet(
    anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor, margin: float = 0.2, reduce: str = "mean"
) -> torch.Tensor:
    """Returns ``max(0, |anchor - positive|^2 - |anchor - negative|^2 + margin)``, with norms along the second axis.

    Source: chainer.functions.triplet. PyTorch's triplet loss has distances that are not squared.

    Args:
        anchor: Float tensor of shape (batch, n, ...).
        positive: Float tensor of the same shape and dtype.
        negative: Float tensor of the same shape and dtype.
        margin: Positive number.
        reduce: 'mean' for the sum divided by the batch size, or 'no'.

    Raises:
        ValueError: An option or a shape is wrong.
        TypeError: The dtypes differ.
    """
    if margin <= 0:
        raise ValueError("margin must be positive")
    _check_option("triplet", "reduce", reduce, ("mean", "no"))
    _check_same("triplet", anchor, positive, negative)
    if len(anchor) == 0:
        raise ValueError("triplet: the batch is empty")
    loss = torch.relu(((anchor - positive) ** 2 - (anchor - negative) ** 2).sum(dim=1) + margin)
    return loss.sum() / len(anchor) if reduce == "mean" else loss


def cross_covariance(y: torch.Tensor, z: torch.Tensor, reduce: str = "half_squared_sum") -> torch.Tensor:
    """Returns half the sum of the squared covariances of the columns of ``y`` with those of ``z``.

    Source: chainer.functions.cross_covariance.

    Args:
        y: Float tensor of shape (batch, n).
        z: Float tensor of shape (batch, m) and the same dtype.
        reduce: 'half_squared_sum', or 'no' for the covariances of shape (n, m).
    """
    _check_option("cross_covariance", "reduce", reduce, ("half_squared_sum", "no"))
    _check_float("cross_covariance", y)
    if y.ndim != 2 or z.ndim != 2 or len(y) != len(z) or y.dtype != z.dtype:
        raise ValueError("cross_covariance needs tensors of shapes (batch, n) and (batch, m) and of one dtype")
    covariance = (y - y.mean(dim=0, keepdim=True)).T @ (z - z.mean(dim=0, keepdim=True)) / len(y)
    return 0.5 * (covariance**2).sum() if reduce == "half_squared_sum" else covariance


def decov(h: torch.Tensor, reduce: str = "half_squared_sum") -> torch.Tensor:
    """Returns half the sum of the squared covariances of different columns of ``h``. Source: chainer.functions.decov.

    Args:
        h: Float tensor of shape (batch, n).
        reduce: 'half_squared_sum', or 'no' for the covariances of shape (n, n), with zeros on the diagonal.
    """
    _check_option("decov", "reduce", reduce, ("half_squared_sum", "no"))
    _check_float("decov", h)
    if h.ndim != 2:
        raise ValueError("decov needs a tensor of shape (batch, n)")
    centered = h - h.mean(dim=0, keepdim=True)
    covariance = centered.T @ centered / len(h)
    covariance = covariance - torch.diag(torch.diagonal(covariance))
    return 0.5 * (covariance**2).sum() if reduce == "half_squared_sum" else covariance


def gaussian_kl_divergence(mean: torch.Tensor, ln_var: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    """Returns the KL divergence from the standard normal distribution of normal distributions.

    Source: chainer.functions.gaussian_kl_divergence.

    Args:
        mean: Means: float tensor.
        ln_var: Logarithms of the variances, of the same dtype.
        reduce: 'sum' or 'mean' over all elements, or 'no'.
    """
    _check_option("gaussian_kl_divergence", "reduce", reduce, ("sum", "mean", "no"))
    return _reduced((mean * mean + torch.exp(ln_var) - ln_var - 1) * 0.5, reduce)


def bernoulli_nll(x: torch.Tensor, y: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    """Returns the negative log-likelihood of ``x`` under Bernoulli distributions with the logits ``y``.

    Source: chainer.functions.bernoulli_nll.

    Args:
        x: Observations: float tensor.
        y: Logits (before the sigmoid), of the same dtype.
        reduce: 'sum' or 'mean' over all elements, or 'no'.
    """
    _check_option("bernoulli_nll", "reduce", reduce, ("sum", "mean", "no"))
    return _reduced(-F.logsigmoid(-y) - x * y, reduce)


def gaussian_nll(x: torch.Tensor, mean: torch.Tensor, ln_var: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    """Returns the negative log-likelihood of ``x`` under normal distributions. Source: chainer.functions.gaussian_nll.

    Args:
        x: Observations: float tensor.
        mean: Means, of the same dtype.
        ln_var: Logarithms of the variances, of the same dtype.
        reduce: 'sum' or 'mean' over all elements, or 'no'.
    """
    _check_option("gaussian_nll", "reduce", reduce, ("sum", "mean", "no"))
    loss = (ln_var + math.log(2 * math.pi)) / 2 + (x - mean) ** 2 * torch.exp(-ln_var) * 0.5
    return _reduced(loss, reduce)


def _reduced(loss: torch.Tensor, reduce: str) -> torch.Tensor:
    if reduce == "no":
        return loss
    return loss.sum() if reduce == "sum" else loss.mean()


def discriminative_margin_based_clustering_loss(
    embeddings: torch.Tensor,
    labels: torch.Tensor,
    delta_v: float,
    delta_d: float,
    max_embedding_dim: int,
    norm: int = 1,
    alpha: float = 1.0,
    beta: float = 1.0,
    gamma: float = 0.001,
) -> tuple[torch.Tensor, torch.Tensor | float, torch.Tensor]:
    """Returns the variance, distance and regularisation terms of the discriminative loss for instance segmentation.

    Source: chainer.functions.discriminative_margin_based_clustering_loss, with its broadcasting: so the batch size must
    equal ``max_embedding_dim`` or 1.

    Args:
        embeddings: Float tensor of shape (batch, max_embedding_dim, height, width).
        labels: Integer tensor of shape (batch, height, width): instances from 1 to max_embedding_dim, 0 for none.
        delta_v: Distance to the own centre below which nothing is lost.
        delta_d: Half the distance of two centres above which nothing is lost.
        max_embedding_dim: Number of instances.
        norm: 1 or 2.
        alpha: Weight of the variance term.
        beta: Weight of the distance term.
        gamma: Weight of the regularisation term.

    Raises:
        ValueError: An option is wrong.
    """
    if max_embedding_dim <= 0:
        raise ValueError("max_embedding_dim must be positive")
    if norm not in (1, 2):
        raise ValueError("norm must be 1 or 2")
    batch, channels = embeddings.shape[:2]
    if channels != max_embedding_dim:
        raise ValueError(f"embeddings must have {max_embedding_dim} channels, not {channels}")

    def length(v: torch.Tensor, dim: int | tuple[int, ...]) -> torch.Tensor:
        return torch.abs(v).sum(dim=dim) if norm == 1 else torch.sqrt((v**2).sum(dim=dim))

    spread = embeddings[None].expand(batch, *embeddings.shape)
    masks = torch.stack([(labels == c + 1)[:, None] for c in range(max_embedding_dim)])
    centres = (spread * masks).sum(dim=(3, 4)) / masks.sum(dim=(2, 3, 4))[:, :, None].clamp(min=1)
    regularisation = length(centres, (1, 2)).sum() / (max_embedding_dim * batch)
    excess = torch.relu(length((centres[:, :, :, None, None] - spread) * masks, 2) - delta_v) ** 2
    variance = excess.sum(dim=(1, 2, 3)) / masks.sum(dim=(1, 2, 3, 4)).clamp(min=1)
    distance: torch.Tensor | float = 0.0
    pairs = [(a, b) for a in range(len(centres)) for b in range(a + 1, len(centres))]
    for a, b in pairs:
        distance = distance + (torch.relu(2 * delta_d - length(centres[a] - centres[b], 1)) ** 2).sum()
    distance = distance / max(len(pairs) * batch, 1)
    return alpha * variance.sum() / max_embedding_dim, beta * distance, gamma * regularisation
