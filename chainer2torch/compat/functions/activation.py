"""Activations whose meaning or defaults differ from PyTorch's function of the same name."""

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.math_reduce import amax
from chainer2torch.compat.variable.modes import is_training


def leaky_relu(x: torch.Tensor, slope: float = 0.2) -> torch.Tensor:
    """Returns ``x`` where it is positive and ``slope * x`` elsewhere.

    Source: chainer.functions.leaky_relu. PyTorch's function has a slope of 0.01 unless told otherwise.

    Args:
        x: Float tensor of any shape.
        slope: Factor of the negative side.
    """
    return F.leaky_relu(x, negative_slope=slope)


def softmax(x: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Returns the softmax along one axis, by default the second. Source: chainer.functions.softmax."""
    return F.softmax(x, dim=axis)


def log_softmax(x: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Returns the logarithm of :func:`softmax`, computed stably. Source: chainer.functions.log_softmax."""
    return F.log_softmax(x, dim=axis)


def clipped_relu(x: torch.Tensor, z: float = 20.0) -> torch.Tensor:
    """Returns ``x`` clipped to the range from 0 to ``z``; the gradient at both ends is 0.

    Source: chainer.functions.clipped_relu.

    Raises:
        TypeError: ``z`` is not a float (Chainer takes no int here).
    """
    if not isinstance(z, float):
        raise TypeError("z must be a float")
    return F.hardtanh(x, 0.0, z)


def hard_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """Returns ``0.2 * x + 0.5`` clipped to the range from 0 to 1. Source: chainer.functions.hard_sigmoid.

    PyTorch's function of this name has the slope 1/6.
    """
    return F.hardtanh(x * 0.2 + 0.5, 0.0, 1.0)


def crelu(x: torch.Tensor, axis: int = 1) -> torch.Tensor:
    """Returns ``relu(x)`` followed by ``relu(-x)`` along ``axis``, which gets twice as long.

    Source: chainer.functions.crelu.
    """
    return torch.cat((torch.relu(x), torch.relu(-x)), dim=axis)


def maxout(x: torch.Tensor, pool_size: int, axis: int = 1) -> torch.Tensor:
    """Returns the largest of each ``pool_size`` neighbours along ``axis``, which gets shorter by that factor.

    Where several neighbours are the largest each gets the whole gradient. Source: chainer.functions.maxout.

    Args:
        x: Float tensor.
        pool_size: Positive divisor of ``x.shape[axis]``.
        axis: Axis to pool. As in Chainer a negative one does not do what it says: -1 raises, and from -2 on the
            maximum is taken over the axis after the pooled one.

    Raises:
        ValueError: ``pool_size`` is not positive or does not divide the axis.
    """
    if pool_size <= 0:
        raise ValueError("pool_size must be a positive integer")
    shape = tuple(x.shape)
    if shape[axis] % pool_size != 0:
        raise ValueError(f"axis {axis} of length {shape[axis]} cannot be divided by pool_size {pool_size}")
    split = shape[:axis] + (shape[axis] // pool_size, pool_size) + shape[axis + 1 :]
    return amax(x.reshape(split), axis=axis + 1)


def prelu(x: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    """Returns ``x`` where it is not negative and ``W * x`` elsewhere; the gradient at 0 is that of the positive side.

    Source: chainer.functions.prelu.

    Args:
        x: Float tensor of shape (batch, ...).
        W: Slopes, of the dtype of ``x`` and the shape of the first axes of ``x`` after the batch axis (maybe none).

    Raises:
        ValueError: The shape of ``W`` does not fit.
        TypeError: The dtypes differ.
    """
    return torch.where(x >= 0, x, x * _behind_batch_axis("prelu", W, x))


def swish(x: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """Returns ``x * sigmoid(beta * x)``. Source: chainer.functions.swish.

    Args:
        x: Float tensor of shape (batch, ...).
        beta: Of the dtype of ``x`` and the shape of the first axes of ``x`` after the batch axis (maybe none).

    Raises:
        ValueError: The shape of ``beta`` does not fit.
        TypeError: The dtypes differ.
    """
    return x * torch.sigmoid(_behind_batch_axis("swish", beta, x) * x)


def selu(x: torch.Tensor, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805) -> torch.Tensor:
    """Returns ``scale * elu(x, alpha)``. Source: chainer.functions.selu; PyTorch's has these constants built in."""
    return scale * F.elu(x, alpha=alpha)


def rrelu(
    x: torch.Tensor,
    l: float = 1.0 / 8,  # noqa: E741 - Chainer's own name
    u: float = 1.0 / 3,
    *,
    r: torch.Tensor | None = None,
    return_r: bool = False,
    training: bool | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Returns ``x`` where it is not negative and ``r * x`` elsewhere.

    In train mode ``r`` is drawn for each element from the uniform distribution over [l, u), unless it is given. In test
    mode it is ``(l + u) / 2``, also when given. Source: chainer.functions.rrelu.

    Args:
        x: Float tensor.
        l: Lower bound of the slopes, in [0, 1).
        u: Upper bound of the slopes, in [0, 1) and above ``l``.
        r: Slopes of the shape and dtype of ``x``.
        return_r: Return the pair of the result and the slopes.
        training: Whether this is train mode; by default what :func:`is_training` says.

    Raises:
        ValueError: A bound or the shape of ``r`` is wrong.
        TypeError: The dtype of ``r`` is wrong.
    """
    if not 0.0 <= l < u < 1.0:
        raise ValueError("the bounds must satisfy 0 <= l < u < 1")
    if r is not None:
        _check_slopes(r, x)
    if not (is_training() if training is None else training):
        r = torch.full_like(x, (l + u) / 2)
    elif r is None:
        r = l + (u - l) * torch.rand_like(x)
    r = r.detach()
    y = torch.where(x >= 0, x, x * r)
    return (y, r) if return_r else y


def _check_slopes(r: torch.Tensor, x: torch.Tensor) -> None:
    if r.dtype != x.dtype:
        raise TypeError(f"rrelu: r must have the dtype {x.dtype} of x, not {r.dtype}")
    if r.shape != x.shape:
        raise ValueError(f"rrelu: r must have the shape {tuple(x.shape)} of x, not {tuple(r.shape)}")


def _behind_batch_axis(name: str, w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns `w` reshaped so that its axes meet the axes of `x` after the first; raises where Chainer does."""
    if w.dtype != x.dtype:
        raise TypeError(f"{name}: dtypes must be equal, not {x.dtype} and {w.dtype}")
    if w.ndim >= x.ndim or x.shape[1 : 1 + w.ndim] != w.shape:
        raise ValueError(f"{name}: shape {tuple(w.shape)} does not fit an input of shape {tuple(x.shape)}")
    return w.reshape((1,) + tuple(w.shape) + (1,) * (x.ndim - w.ndim - 1))
