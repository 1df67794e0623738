"""Layers of torch.nn with one thing of Chainer's links that torch's own lack."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.batchnorm import _BatchNorm


class Linear(nn.Linear):
    """nn.Linear over all axes behind the first, with Chainer's first values. Source: chainer.links.Linear."""

    def reset_parameters(self) -> None:
        """Chainer's first values."""
        nn.init.normal_(self.weight, std=max(self.in_features, 1) ** -0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The rows of a batch, transformed."""
        return F.linear(input.flatten(1), self.weight, self.bias)


class LazyLinear(nn.LazyLinear):
    """Linear that takes its size from the first batch. Source: chainer.links.Linear with in_size None."""

    cls_to_become = Linear
    filled_when_inferred = True  # where: helper.given_size, helper.link_attribute

    def initialize_parameters(self, input: torch.Tensor) -> None:
        """Takes the size from a batch."""
        vars(self)["filled_when_inferred"] = True  # where: helper.given_size, helper.link_attribute
        super().initialize_parameters(input.flatten(1))

    def reset_parameters(self) -> None:
        """Chainer's first values, when there is a size."""
        if not self.has_uninitialized_params():
            Linear.reset_parameters(self)  # type: ignore[arg-type]

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The rows of the first batch; later ones are a Linear's."""
        return F.linear(input.flatten(1), self.weight, self.bias)


def linear(in_features: int | None, out_features: int, bias: bool = True) -> nn.Linear:
    """A Linear, lazy where in_features is None. Source: chainer.links.Linear."""
    if in_features is None:
        return LazyLinear(out_features, bias=bias)
    return Linear(in_features, out_features, bias=bias)


def conv(dims: int, in_channels: int | None, *args: Any, **options: Any) -> Any:
    """nn.Conv1d, 2d or 3d, lazy where in_channels is None. Source: chainer.links.ConvolutionND."""
    if in_channels is None:
        return {1: nn.LazyConv1d, 2: nn.LazyConv2d, 3: nn.LazyConv3d}[dims](*args, **options)
    return {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[dims](in_channels, *args, **options)


def conv_transpose(dims: int, in_channels: int | None, *args: Any, **options: Any) -> Any:
    """nn.ConvTranspose1d, 2d or 3d, lazy where in_channels is None. Source: chainer.links.DeconvolutionND."""
    if in_channels is None:
        layer = {1: nn.LazyConvTranspose1d, 2: nn.LazyConvTranspose2d, 3: nn.LazyConvTranspose3d}[dims]
        return layer(*args, **options)
    return {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}[dims](in_channels, *args, **options)


class BatchNorm(_BatchNorm):
    """nn.BatchNorm1d, 2d or 3d, as its input wants; it may have a weight or a bias alone.

    Source: chainer.links.BatchNormalization; up to version 4 the running variance began at 0.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        weight: bool = True,
        bias: bool = True,
        running_var: float = 1,  # where: running_var
    ) -> None:
        super().__init__(num_features, eps, momentum)
        self.affine = weight and bias
        if not weight:
            del self.weight
            # ones and not None: on a GPU the backward pass fails for a bias alone
            self.register_buffer("weight", torch.ones(num_features), persistent=False)
        if not bias:
            self.bias = None  # type: ignore[assignment]
        nn.init.constant_(self.running_var, running_var)  # type: ignore[arg-type]  # where: running_var

    def _check_input_dim(self, input: torch.Tensor) -> None:
        """Any number of axes from two on."""


class FinetunedBatchNorm(BatchNorm):
    """BatchNorm whose calls with ``finetune=True`` make its running statistics plain averages.

    Source: chainer.links.BatchNormalization.
    """

    _chainer_N = 0  # how many such calls there were

    def forward(self, input: torch.Tensor, finetune: bool = False) -> torch.Tensor:
        """The batch, normalized."""
        if not (finetune and self.training):
            return super().forward(input)
        self._chainer_N += 1
        momentum, self.momentum = self.momentum, 1 / self._chainer_N
        output = super().forward(input)
        self.momentum = momentum
        return output


class Embedding(nn.Embedding):
    """nn.Embedding that gives zeros, without a gradient, for ``ignore_label``. Source: chainer.links.EmbedID."""

    def __init__(self, num_embeddings: int, embedding_dim: int, ignore_label: int = -1) -> None:
        super().__init__(num_embeddings, embedding_dim)
        self.ignore_label = ignore_label

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The rows of the ids."""
        ignored = input == self.ignore_label
        rows = F.embedding(input.masked_fill(ignored, 0), self.weight)
        return rows.masked_fill(ignored.unsqueeze(-1), 0)
