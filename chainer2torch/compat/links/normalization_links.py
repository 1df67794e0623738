"""Chainer's normalization links."""

import inspect
import math
from typing import Any, ClassVar

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.batchnorm import _NormBase

from chainer2torch.compat.initializers.initializers import _torch_dtype
from chainer2torch.compat.links.links_base import ChainerLayer
from chainer2torch.compat.variable.modes import call_in_mode

_BATCH_NORM_NAMES = {"weight": "gamma", "bias": "beta", "running_mean": "avg_mean", "running_var": "avg_var"}


class BatchNormalization(ChainerLayer):
    """Batch normalization of an input of any rank.

    ``size`` (int or tuple) is the shape of the normalized features, which are the axes of the input after the first
    one; with ``axis`` (int or sorted tuple) they are the axes that are not in it, and ``size`` may be None. ``weight``
    is gamma, ``bias`` beta (each None without ``use_gamma`` / ``use_beta``). The running variance is unbiased; a batch
    of one gives beta, where nn.BatchNorm raises. An input of another dtype than the statistics' is computed in the
    wider one and keeps its own. ``N`` counts the calls with ``finetune=True``, which make the running
    statistics plain averages. Raises RuntimeError for features of another shape. Source:
    chainer.links.BatchNormalization.
    """

    _chainer_names: ClassVar[dict[str, str]] = _BATCH_NORM_NAMES
    _counts_finetuning: ClassVar[bool] = True
    N: torch.Tensor
    weight: torch.Tensor | None
    bias: torch.Tensor | None
    running_mean: torch.Tensor
    running_var: torch.Tensor

    def __init__(
        self,
        size: Any = None,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        axis: Any = None,
        initial_avg_mean: Any = None,
        initial_avg_var: Any = None,
    ) -> None:
        super().__init__()
        if size is None and axis is None:
            raise RuntimeError("size or axis is required")
        axis = (axis,) if isinstance(axis, int) else axis
        if axis is not None and list(axis) != sorted(set(axis)):
            raise RuntimeError("the numbers in axis must be sorted in ascending order")
        self.decay = decay
        self.eps = eps
        self.axis = axis
        dtype = torch.get_default_dtype() if dtype is None else _torch_dtype(dtype)
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if use_gamma:
            self._new_parameter("weight", initial_gamma, size, default=1, dtype=dtype)
        if use_beta:
            self._new_parameter("bias", initial_beta, size, default=0, dtype=dtype)
        self._new_buffer("running_mean", 0 if initial_avg_mean is None else initial_avg_mean, size, dtype)
        self._new_buffer("running_var", 1 if initial_avg_var is None else initial_avg_var, size, dtype)
        self.register_buffer("N", torch.tensor(0))

    def start_finetuning(self) -> None:
        """Sets ``N`` to 0, so that the next calls with ``finetune=True`` average from their first batch on."""
        self.N.zero_()

    def forward(self, x: torch.Tensor, finetune: bool = False) -> torch.Tensor:
        kept = self._kept_axes(x)
        for name in ("weight", "bias", "running_mean", "running_var"):
            if getattr(self, name) is not None:
                self._materialize(name, tuple(x.shape[i] for i in kept))
        if tuple(self.running_mean.shape) != tuple(x.shape[i] for i in kept):
            raise RuntimeError(
                f"statistics of shape {tuple(self.running_mean.shape)} do not fit an input of shape {tuple(x.shape)}"
            )
        # (samples, features): F.batch_norm then serves every rank and every choice of axes
        reduced = tuple(i for i in range(x.dim()) if i not in kept)
        order = reduced + kept
        flat = x.permute(order).reshape(math.prod(x.shape[i] for i in reduced), self.running_mean.numel())
        y = self._normalize_mixed(flat, self._decay(finetune) if self.training else 0.0)
        inverse = [order.index(i) for i in range(x.dim())]
        return y.reshape([x.shape[i] for i in order]).permute(inverse)

    def _kept_axes(self, x: torch.Tensor) -> tuple[int, ...]:
        if self.axis is None:
            return tuple(range(1, 1 + self.running_mean.dim()))
        return tuple(i for i in range(x.dim()) if i not in self.axis)

    def _decay(self, finetune: bool) -> float:
        if not finetune:
            return self.decay
        self.N += 1
        return 1 - 1 / self.N.item()

    def _normalize_mixed(self, x: torch.Tensor, decay: float) -> torch.Tensor:
        """Computes in the wider dtype of input and statistics; the result has the input's."""
        means, variances = self.running_mean.view(-1), self.running_var.view(-1)
        weight = None if self.weight is None else self.weight.view(-1)
        bias = None if self.bias is None else self.bias.view(-1)
        if x.dtype == means.dtype:
            return self._normalize(x, decay, means, variances, weight, bias)
        wide = torch.promote_types(x.dtype, means.dtype)
        mean, var = means.to(wide), variances.to(wide)
        y = self._normalize(
            x.to(wide),
            decay,
            mean,
            var,
            weight if weight is None else weight.to(wide),
            bias if bias is None else bias.to(wide),
        )
        if self.training and wide != means.dtype:
            means.copy_(mean)
            variances.copy_(var)
        return y.to(x.dtype)

    def _normalize(
        self,
        x: torch.Tensor,
        decay: float,
        mean: torch.Tensor,
        var: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        if self.training and len(x) == 1:
            with torch.no_grad():
                mean.lerp_(x[0].to(mean), 1 - decay)
                var.mul_(decay)
            # the deviation from the mean is 0, and so are the gradients of x and gamma
            y = (x - x.detach()) * 0 if weight is None else (x - x.detach()) * 0 * weight
            return y if bias is None else y + bias
        if weight is None and bias is not None:
            weight = torch.ones_like(bias)  # on a GPU the backward pass fails for a bias alone
        return F.batch_norm(x, mean, var, weight, bias, self.training, 1 - decay, self.eps)


class BatchRenormalization(BatchNormalization):
    """Batch renormalization: corrected by the running statistics, with r clipped to [1/rmax, rmax] and d to +-dmax.

    r and d take no part in the gradient. Source: chainer.links.BatchRenormalization.
    """

    def __init__(
        self,
        size: Any,
        rmax: float = 1,
        dmax: float = 0,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        initial_avg_mean: Any = None,
        initial_avg_var: Any = None,
    ) -> None:
        # Chainer 7.8.1 hands these two on by position, one place off: initial_avg_mean has no effect there, and
        # initial_avg_var is where the running mean starts
        super().__init__(
            size, decay, eps, dtype, use_gamma, use_beta, initial_gamma, initial_beta, initial_avg_mean=initial_avg_var
        )
        self.rmax = rmax
        self.dmax = dmax

    def _normalize(
        self,
        x: torch.Tensor,
        decay: float,
        running_mean: torch.Tensor,
        running_var: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
    ) -> torch.Tensor:
        if not self.training:
            return super()._normalize(x, decay, running_mean, running_var, weight, bias)
        mean, var = x.mean(0), x.var(0, unbiased=False)
        std = (var + self.eps).sqrt()
        with torch.no_grad():
            running_std = (running_var + self.eps).sqrt()
            r = (std / running_std).clamp(1 / self.rmax, self.rmax)
            d = ((mean - running_mean) / running_std).clamp(-self.dmax, self.dmax)
            running_mean.mul_(decay).add_(mean, alpha=1 - decay)
            running_var.mul_(decay).add_(var, alpha=(1 - decay) * len(x) / max(len(x) - 1, 1))
        y = (x - mean) / std * r + d
        if weight is not None:
            y = y * weight
        return y if bias is None else y + bias


class LayerNormalization(ChainerLayer):
    """Layer normalization of (batch, size) inputs, eps 1e-6; ``size`` None is inferred at the first forward.

    Inputs of another rank raise ValueError, as in Chainer. Source: chainer.links.LayerNormalization.
    """

    _chainer_names: ClassVar[dict[str, str]] = {"weight": "gamma", "bias": "beta"}

    weight: torch.Tensor
    bias: torch.Tensor

    def __init__(
        self, size: Any = None, eps: float = 1e-6, initial_gamma: Any = None, initial_beta: Any = None
    ) -> None:
        super().__init__()
        self.eps = eps
        self._new_parameter("weight", initial_gamma, size, default=1)
        self._new_parameter("bias", initial_beta, size, default=0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() != 2:
            raise ValueError(f"LayerNormalization takes inputs of two axes, not of shape {tuple(x.shape)}")
        self._materialize("weight", x.shape[1])
        self._materialize("bias", x.shape[1])
        return F.layer_norm(x, (x.shape[1],), self.weight, self.bias, self.eps)


class GroupNormalization(ChainerLayer):
    """Group normalization of (batch, channels, ...) inputs; ``size`` (channels) None is inferred at the first forward.

    Channels that ``groups`` does not divide raise ValueError. Source: chainer.links.GroupNormalization.
    """

    _chainer_names: ClassVar[dict[str, str]] = {"weight": "gamma", "bias": "beta"}

    weight: torch.Tensor
    bias: torch.Tensor

    def __init__(
        self, groups: int, size: Any = None, eps: float = 1e-5, initial_gamma: Any = None, initial_beta: Any = None
    ) -> None:
        super().__init__()
        self.groups = groups
        self.eps = eps
        dtype = torch.get_default_dtype()  # whatever the initializers say
        self._new_parameter("weight", initial_gamma, size, default=1, dtype=dtype)
        self._new_parameter("bias", initial_beta, size, default=0, dtype=dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() < 2 or x.shape[1] % self.groups != 0:
            raise ValueError(f"{self.groups} groups do not fit an input of shape {tuple(x.shape)}")
        self._materialize("weight", x.shape[1])
        self._materialize("bias", x.shape[1])
        return F.group_norm(x, self.groups, self.weight, self.bias, self.eps)


class DecorrelatedBatchNormalization(ChainerLayer):
    """Whitens groups of channels (ZCA) over the batch; in eval mode with the running mean and projection.

    Input (batch, channels, ...), ``size`` channels in ``groups`` groups. Source:
    chainer.links.DecorrelatedBatchNormalization.
    """

    _counts_finetuning: ClassVar[bool] = True
    N: torch.Tensor
    avg_mean: torch.Tensor
    avg_projection: torch.Tensor

    def __init__(
        self, size: int, groups: int = 16, decay: float = 0.9, eps: float = 2e-5, dtype: Any = torch.float32
    ) -> None:
        super().__init__()
        channels = size // groups
        self.register_buffer("avg_mean", torch.zeros(groups, channels, dtype=_torch_dtype(dtype)))
        self.register_buffer("avg_projection", torch.eye(channels, dtype=_torch_dtype(dtype)).repeat(groups, 1, 1))
        self.register_buffer("N", torch.tensor(0))
        self.decay = decay
        self.eps = eps
        self.groups = groups

    def start_finetuning(self) -> None:
        """Sets ``N`` to 0, so that the next calls with ``finetune=True`` average from their first batch on."""
        self.N.zero_()

    def forward(self, x: torch.Tensor, finetune: bool = False) -> torch.Tensor:
        flat = x.transpose(0, 1).reshape(self.groups, x.shape[1] // self.groups, -1)  # (group, channel, sample)
        if not self.training:
            y = self.avg_projection @ (flat - self.avg_mean.unsqueeze(2))
        else:
            if finetune:
                self.N += 1
            decay = 1 - 1 / self.N.item() if finetune else self.decay
            samples = flat.shape[2]
            mean = flat.mean(2, keepdim=True)
            centred = flat - mean
            identity = torch.eye(flat.shape[1], dtype=x.dtype, device=x.device)
            values, vectors = torch.linalg.eigh(centred @ centred.mT / samples + self.eps * identity)
            projection = vectors @ torch.diag_embed(values.rsqrt()) @ vectors.mT
            y = projection @ centred
            with torch.no_grad():
                self.avg_mean.mul_(decay).add_(mean.squeeze(2), alpha=1 - decay)
                correction = samples / max(samples - 1, 1)
                self.avg_projection.mul_(decay).add_(projection, alpha=(1 - decay) * correction)
        return y.reshape(x.shape[1], x.shape[0], *x.shape[2:]).transpose(0, 1)


def call_as_version_1(link: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a link of which the source does not say what it is, in the words of Chainer's version 1.

    There ``test=`` or ``train=`` told a layer its mode, and the second argument of a batch normalization was ``test``.
    A module that has such a parameter gets it as it is. Source: chainer.links of version 1.
    """
    if not isinstance(link, nn.Module):
        return link(*args, **kwargs)
    own = type(link).__call__ is not nn.Module.__call__
    parameters = inspect.signature(link.__call__ if own else link.forward).parameters
    taken = {"test", "train"} if any(p.kind is p.VAR_KEYWORD for p in parameters.values()) else set(parameters)
    is_normalization = isinstance(link, _NormBase) or getattr(link, "_counts_finetuning", False)
    if is_normalization and len(args) == 2 and "test" not in taken:
        x, test = args
        args, kwargs = (x,), {"test": test, **kwargs}
    for mode in ("test", "train"):
        if mode in kwargs and mode not in taken:
            value = kwargs.pop(mode)
            return call_in_mode(link, value if mode == "train" else not value, *args, **kwargs)
    return link(*args, **kwargs)
