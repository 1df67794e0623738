"""Normalizations of chainer.functions.normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
import torch.nn.functional as F


def batch_normalization(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    *,
    eps: float = 2e-5,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    decay: float = 0.9,
    axis: Any = None,
) -> torch.Tensor:
    """Normalizes by the mean and variance of the batch, in train and in test mode.

    A batch of one gives ``beta``, where torch's raises.

    Args:
        x: a float tensor.
        gamma, beta: of the shape of the axes that are kept.
        eps: added to the variance.
        running_mean, running_var: updated in place if given: ``decay`` of the old value remains. The variance that is
            added is the unbiased one.
        axis: the axes over which the mean is taken, in ascending order; None: the first, and those behind the axes of
            ``gamma``.
    Raises:
        ValueError, RuntimeError: the shapes do not fit.
    Source: chainer.functions.batch_normalization.
    """
    axes, shape = _normalized_axes(x, gamma, axis)
    variance, mean = torch.var_mean(x.to(torch.promote_types(x.dtype, gamma.dtype)), axes, correction=0)
    with torch.no_grad():
        m = x.numel() // gamma.numel()
        adjust = m / max(m - 1.0, 1.0)
        if running_mean is not None:
            running_mean.mul_(decay).add_((1 - decay) * mean)
        if running_var is not None:
            running_var.mul_(decay).add_((1 - decay) * adjust * variance)
    return _normalize_by(x, gamma, beta, mean, variance, eps, shape)


def fixed_batch_normalization(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    eps: float = 2e-5,
    axis: Any = None,
) -> torch.Tensor:
    """Normalizes by a given mean and variance, to which gradients flow, too.

    Arguments and errors as in :func:`batch_normalization`.

    Source: chainer.functions.fixed_batch_normalization.
    """
    _, shape = _normalized_axes(x, gamma, axis)
    return _normalize_by(x, gamma, beta, mean, var, eps, shape)


def fixed_batch_renormalization(
    x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, mean: torch.Tensor, var: torch.Tensor, eps: float = 2e-5
) -> torch.Tensor:
    """:func:`fixed_batch_normalization`. Source: chainer.functions.fixed_batch_renormalization."""
    return fixed_batch_normalization(x, gamma, beta, mean, var, eps)


def _normalized_axes(x: torch.Tensor, gamma: torch.Tensor, axis: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of the mean, and the shape in which ``gamma`` is broadcast over ``x``."""
    if axis is None:
        axes: tuple[int, ...] = (0, *range(gamma.dim() + 1, x.dim()))
    else:
        axes = tuple(axis) if isinstance(axis, Sequence) else (axis,)
        if list(axes) != sorted(set(axes)):
            raise ValueError("numbers in axis must be sorted in ascending order")
    kept = [i for i in range(x.dim()) if i not in axes]
    if tuple(x.shape[i] for i in kept) != tuple(gamma.shape):
        raise ValueError(f"x {tuple(x.shape)} and gamma {tuple(gamma.shape)} do not fit over the axes {axes}")
    return axes, tuple(size if i in kept else 1 for i, size in enumerate(x.shape))


def _normalize_by(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    mean: torch.Tensor,
    var: torch.Tensor,
    eps: float,
    shape: tuple[int, ...],
) -> torch.Tensor:
    x_hat = (x - mean.reshape(shape)) * torch.rsqrt(var + eps).reshape(shape)
    return (gamma.reshape(shape) * x_hat + beta.reshape(shape)).to(x.dtype)


def batch_renormalization(
    x: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    rmax: float,
    dmax: float,
    eps: float = 2e-5,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    decay: float = 0.9,
    update_statistics: bool = False,
) -> torch.Tensor:
    """Batch normalization that is corrected towards the running statistics. For train mode only, as in Chainer.

    Args:
        x: float tensor of shape (n, *gamma.shape, ...).
        gamma, beta: scale and shift.
        rmax, dmax: bounds of the correction's factor and shift, through which no gradient flows.
        eps: added to the variances.
        running_mean, running_var: required; updated in place with ``update_statistics``.
        decay: how much of them remains.
    Raises:
        TypeError: there are no running statistics. ValueError: the shapes do not fit.
    Source: chainer.functions.batch_renormalization.
    """
    if running_mean is None or running_var is None:
        raise TypeError("running_mean and running_var are required")
    axes, shape = _normalized_axes(x, gamma, None)
    variance, mean = torch.var_mean(x.to(gamma.dtype), axes, correction=0)
    with torch.no_grad():
        running_std = torch.sqrt(running_var + eps)
        r = (torch.sqrt(variance + eps) / running_std).clamp(1.0 / rmax, rmax).reshape(shape)
        d = ((mean - running_mean) / running_std).clamp(-dmax, dmax).reshape(shape)
        if update_statistics:
            m = x.numel() // gamma.numel()
            running_mean.mul_(decay).add_((1 - decay) * mean)
            running_var.mul_(decay).add_((1 - decay) * (m / max(m - 1.0, 1.0)) * variance)
    x_hat = (x - mean.reshape(shape)) * torch.rsqrt(variance + eps).reshape(shape)
    return (gamma.reshape(shape) * (x_hat * r + d) + beta.reshape(shape)).to(x.dtype)


def decorrelated_batch_normalization(
    x: torch.Tensor,
    *,
    groups: int = 16,
    eps: float = 2e-5,
    running_mean: torch.Tensor | None = None,
    running_projection: torch.Tensor | None = None,
    decay: float = 0.9,
) -> torch.Tensor:
    """Makes the channels of each group uncorrelated (ZCA whitening) with the statistics of the batch.

    Args:
        x: float tensor of shape (n, c, ...).
        groups: number of groups of channels.
        eps: added to the diagonal of the covariance.
        running_mean: shape (groups, c / groups), updated in place if given.
        running_projection: shape (groups, c / groups, c / groups), likewise.
        decay: how much of them remains.
    Raises:
        RuntimeError: the shapes do not fit.
    Source: chainer.functions.decorrelated_batch_normalization.
    """
    grouped = _grouped(x, groups)
    m = grouped.shape[2]
    mean = grouped.mean(dim=2, keepdim=True)
    centred = grouped - mean
    identity = torch.eye(grouped.shape[1], dtype=x.dtype, device=x.device)
    projection = _InverseRoot.apply(centred @ centred.transpose(1, 2) / m + eps * identity)
    with torch.no_grad():
        if running_mean is not None:
            running_mean.mul_(decay).add_((1 - decay) * mean.squeeze(2))
        if running_projection is not None:
            running_projection.mul_(decay).add_((1 - decay) * (m / max(m - 1.0, 1.0)) * projection)
    return _ungrouped(projection @ centred, x)


def fixed_decorrelated_batch_normalization(
    x: torch.Tensor, mean: torch.Tensor, projection: torch.Tensor, groups: int = 16
) -> torch.Tensor:
    """Whitening with a given mean and projection, which get no gradient.

    Args:
        x: float tensor of shape (n, c, ...).
        mean: shape (groups, c / groups).
        projection: shape (groups, c / groups, c / groups).
        groups: number of groups of channels.
    Source: chainer.functions.fixed_decorrelated_batch_normalization (whose gradients by ``mean`` and ``projection`` are
        not those of its result; nothing depends on them where both are running statistics).
    """
    return _ungrouped(projection.detach() @ (_grouped(x, groups) - mean.detach()[:, :, None]), x)


def _grouped(x: torch.Tensor, groups: int) -> torch.Tensor:
    return x.transpose(0, 1).reshape(groups, x.shape[1] // groups, -1)


def _ungrouped(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return y.reshape(x.shape[1], x.shape[0], *x.shape[2:]).transpose(0, 1)


class _InverseRoot(torch.autograd.Function):
    """``A ** -0.5`` of symmetric positive definite matrices; the gradient also holds where eigenvalues are equal."""

    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, matrix: torch.Tensor) -> torch.Tensor:
        values, vectors = torch.linalg.eigh(matrix)
        ctx.save_for_backward(values, vectors)
        root: torch.Tensor = vectors * values.rsqrt()[:, None, :] @ vectors.transpose(1, 2)
        return root

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> torch.Tensor:
        values, vectors = ctx.saved_tensors
        roots = values.sqrt()
        a, b = roots[:, :, None], roots[:, None, :]
        # (a^-1 - b^-1) / (a^2 - b^2), the difference quotient of the function of the eigenvalues.
        quotient = -1 / (a * b * (a + b))
        inner = vectors.transpose(1, 2) @ grad_outputs[0] @ vectors
        gradient: torch.Tensor = vectors @ (quotient * inner) @ vectors.transpose(1, 2)
        return gradient


def layer_normalization(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    """Normalizes each row of a matrix.

    Args:
        x: float tensor of shape (n, m).
        gamma, beta: shape (m,).
        eps: added to the variance.
    Raises:
        ValueError: ``x`` is not a matrix. RuntimeError: the shapes do not fit.
    Source: chainer.functions.layer_normalization.
    """
    if x.dim() != 2:
        raise ValueError(f"x must have two axes, not {x.dim()}")
    return F.layer_norm(x, gamma.shape, gamma, beta, eps)


def group_normalization(
    x: torch.Tensor, groups: int, gamma: torch.Tensor, beta: torch.Tensor, eps: float = 1e-5
) -> torch.Tensor:
    """Normalizes each group of channels of each sample.

    Args:
        x: float tensor of shape (n, c, ...).
        groups: number of groups.
        gamma, beta: shape (c,).
        eps: added to the variance.
    Raises:
        RuntimeError: the channels cannot be divided into groups.
    Source: chainer.functions.group_normalization.
    """
    return F.group_norm(x, groups, gamma, beta, eps)


def local_response_normalization(
    x: torch.Tensor, n: int = 5, k: float = 2, alpha: float = 1e-4, beta: float = 0.75
) -> torch.Tensor:
    """Divides by ``(k + alpha * sum of the squares of the neighbouring channels) ** beta``.

    Args:
        x: float tensor of shape (n, c, ...).
        n: the window reaches over ``n // 2`` channels on each side; for an even n on a GPU over one less below.
        k, alpha, beta: see above. (torch's divides ``alpha`` by the size of the window.)
    Source: chainer.functions.local_response_normalization.
    """
    half = n // 2
    # Chainer's kernel has n channels, its NumPy code n // 2 on each side
    below = half if n % 2 or not x.is_cuda else half - 1
    squares = F.pad(x.square().movedim(1, -1), (below, half)).unfold(-1, below + half + 1, 1).sum(-1).movedim(-1, 1)
    return x * (k + alpha * squares) ** -beta


def normalize(x: torch.Tensor, eps: float = 1e-5, axis: Any = 1) -> torch.Tensor:
    """``x / (norm + eps)`` with the Euclidean norm along ``axis``, a number or a tuple.

    Source: chainer.functions.normalize. (torch's divides by the larger of norm and eps.)
    """
    # torch takes no axes for all of them
    norm = x.abs() if axis == () else torch.linalg.vector_norm(x, dim=axis, keepdim=True)
    return x / (norm + eps)
