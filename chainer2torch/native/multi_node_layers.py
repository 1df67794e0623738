"""Layers whose statistics are those of all processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from chainer2torch.native.devices import torch_dtype


class MultiNodeBatchNormalization(_BatchNorm):
    """Batch normalization by the batches of all processes, which count alike. The running variance starts at 0.

    Unlike nn.SyncBatchNorm it runs on CPUs, too, and corrects the running variance by the size of its own batch. The
    gradients of weight and bias are means over the processes. Source: chainermn.links.MultiNodeBatchNormalization.
    """

    def __init__(
        self,
        size: Any,
        comm: Any,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        *,
        communication_backend: str = "auto",
    ) -> None:
        (channels,) = size if isinstance(size, tuple) else (size,)
        super().__init__(int(channels), eps, 1 - decay, dtype=None if dtype is None else torch_dtype(dtype))
        if not use_gamma:  # ones and not None: on a GPU the backward pass fails for a bias alone
            ones = self.weight.detach()
            del self.weight
            self.register_buffer("weight", ones, persistent=False)
        self.bias = self.bias if use_beta else None  # type: ignore[assignment]
        nn.init.zeros_(self.running_var)  # type: ignore[arg-type]

    def _check_input_dim(self, input: Tensor) -> None:
        """Any number of axes from two on."""

    def forward(self, input: Tensor) -> Tensor:
        """The batch, normalized."""
        if not self.training:
            return super().forward(input)
        axes, shape = [i for i in range(input.ndim) if i != 1], [-1, *[1] * (input.ndim - 2)]
        x: Any = input.to(self.running_mean.dtype)  # type: ignore[union-attr]
        mean, square = _Mean.apply(torch.stack([x.mean(axes), x.square().mean(axes)]), True)
        var = square - mean.square()
        y: Tensor = (x - mean.view(shape)) * (var + self.eps).rsqrt().view(shape)
        y = y * _Mean.apply(self.weight, False).view(shape)
        y = y if self.bias is None else y + _Mean.apply(self.bias, False).view(shape)
        count, running = x.numel() // x.shape[1], (self.running_mean, self.running_var)
        with torch.no_grad():
            for kept, new in zip(running, (mean, var * (count / max(count - 1, 1)))):
                kept.lerp_(new, self.momentum)  # type: ignore[union-attr,arg-type]
        return y.to(input.dtype)


class _Mean(torch.autograd.Function):
    """The mean over the processes; of the gradient always, of the value where ``both`` says so."""

    apply: ClassVar[Callable[..., Tensor]]

    @staticmethod
    def forward(ctx: Any, x: Tensor, both: bool) -> Tensor:
        return _mean(x) if both else x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _mean(grads[0]), None


def _mean(x: Tensor) -> Tensor:
    total = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total)
    return total / dist.get_world_size()
