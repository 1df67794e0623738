"""Functions that add noise, most of them in train mode only: what a module's ``self.training`` says, or the caller."""

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.checks import _check_same
from chainer2torch.compat.variable.modes import is_training


def dropout(
    x: torch.Tensor,
    ratio: float = 0.5,
    *,
    mask: torch.Tensor | None = None,
    return_mask: bool = False,
    training: bool | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor | None]:
    """Sets each element to 0 with probability ``ratio`` and scales the others by ``1 / (1 - ratio)``, in train mode.

    Source: chainer.functions.dropout.

    Args:
        x: Float tensor.
        ratio: Probability in [0, 1).
        mask: What to multiply ``x`` with instead of a random mask (it holds the scale already).
        return_mask: Return the pair of the result and the mask; in test mode the mask is None.
        training: Whether this is train mode; by default what :func:`is_training` says.

    Raises:
        ValueError: In train mode, when ``ratio`` is out of range.
    """
    if not (is_training() if training is None else training):
        return (x, None) if return_mask else x
    if not 0.0 <= ratio < 1.0:
        raise ValueError("the dropout ratio must be in the range [0, 1)")
    if mask is None and not return_mask:
        return F.dropout(x, ratio, training=True)
    if mask is None:
        mask = (torch.rand_like(x) >= ratio) / (1 - ratio)
        mask = mask.to(x.dtype)
    y = x * mask
    return (y, mask) if return_mask else y


def gaussian(
    mean: torch.Tensor, ln_var: torch.Tensor, *, eps: torch.Tensor | None = None, return_eps: bool = False
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Draws from normal distributions, differentiable by their parameters, in train and in test mode.

    Source: chainer.functions.gaussian.

    Args:
        mean: Means: float tensor.
        ln_var: Logarithms of the variances, of the same shape and dtype.
        eps: Standard normal noise to use instead of random noise.
        return_eps: Return the pair of the result and the noise.

    Raises:
        ValueError: The shapes differ.
        TypeError: The dtypes differ.
    """
    _check_same("gaussian", mean, ln_var)
    if eps is None:
        eps = torch.randn_like(mean)
    y = mean + torch.exp(ln_var * 0.5) * eps
    return (y, eps) if return_eps else y


def gumbel_softmax(log_pi: torch.Tensor, tau: float = 0.1, axis: int = 1) -> torch.Tensor:
    """Draws from the Gumbel-softmax distribution along ``axis``. Source: chainer.functions.gumbel_softmax.

    PyTorch's function has a temperature of 1 and the last axis unless told otherwise.

    Args:
        log_pi: Logarithms of the (unnormalised) probabilities: float tensor.
        tau: Temperature.
        axis: Axis of the categories.
    """
    return torch.ones_like(log_pi) if log_pi.ndim < 1 else F.gumbel_softmax(log_pi, tau=tau, dim=axis)


def zoneout(h: torch.Tensor, x: torch.Tensor, ratio: float = 0.5, *, training: bool | None = None) -> torch.Tensor:
    """Takes each element from the old state ``h`` with probability ``ratio``, else from ``x``; in test mode from ``x``.

    Source: chainer.functions.zoneout.

    Args:
        h: Previous state: float tensor.
        x: New state, of the same shape.
        ratio: Probability of keeping the previous state.
        training: Whether this is train mode; by default what :func:`is_training` says.
    """
    if not (is_training() if training is None else training):
        return x
    take_x = torch.rand(x.shape, dtype=x.dtype, device=x.device) >= ratio
    return h * ~take_x + x * take_x


def simplified_dropconnect(
    x: torch.Tensor,
    W: torch.Tensor,
    b: torch.Tensor | None = None,
    ratio: float = 0.5,
    train: bool = True,
    mask: torch.Tensor | None = None,
    use_batchwise_mask: bool = True,
) -> torch.Tensor:
    """Returns ``x @ W.T + b``, each weight being dropped with probability ``ratio`` and the others scaled to make up.

    Source: chainer.functions.simplified_dropconnect. Dropping depends on ``train`` alone, not on the mode.

    Args:
        x: Float tensor of shape (batch, ...); all axes but the first are flattened.
        W: Weights of shape (out, in).
        b: Bias of shape (out,), or None.
        ratio: Probability of dropping a weight.
        train: When false nothing is dropped at random and nothing scaled.
        mask: Weights to keep, of shape (batch, out, in), or (out, in) without ``use_batchwise_mask``; drawn by default.
        use_batchwise_mask: Draw a mask for each example of the batch instead of one for all.

    Raises:
        ValueError: The shape of ``mask`` does not fit.
    """
    if not train:
        ratio = 0.0
    x = x.reshape(len(x), -1)
    shape = (len(x), *W.shape) if use_batchwise_mask else tuple(W.shape)
    if mask is None:
        mask = torch.rand(shape, device=W.device) >= ratio
    elif tuple(mask.shape) != shape:
        raise ValueError(f"mask must have the shape {shape}, not {tuple(mask.shape)}")
    weight = W * (1.0 / (1 - ratio)) * mask.detach()
    y = torch.matmul(weight, x[:, :, None]).squeeze(2).to(x.dtype)
    return y if b is None else y + b
