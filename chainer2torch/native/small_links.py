"""Links that torch.nn has in another form, with the arguments of the links."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.nn.parameter import is_lazy

from chainer2torch.native.first_values import WaitingParameter, initialized, parameter
from chainer2torch.native.layers import conv


def _beside(values: Tensor, x: Tensor, axis: int) -> Tensor:
    return values.reshape(*values.shape, *[1] * (x.dim() - axis - values.dim()))


class Bias(nn.Module):
    """Adds ``b`` to the axes of the input from ``axis`` on; without a ``shape`` the second input.

    Source: chainer.links.Bias.
    """

    _is_chain: ClassVar[bool] = False  # where: helper.AnyChain, helper.AnyChainOrList

    def __init__(self, axis: int = 1, shape: Any = None) -> None:
        super().__init__()
        self.axis = axis
        if shape is not None:
            self.b = nn.Parameter(torch.zeros(shape))

    def forward(self, x: Tensor, *ys: Tensor) -> Tensor:
        """The sum."""
        operands: tuple[Tensor, ...] = (*self.parameters(), *ys)
        (y,) = operands
        return x + _beside(y, x, self.axis)


class ParameterLink(nn.Module):
    """Gives its parameter ``W``, which begins as an array. Source: chainer.links.Parameter."""

    _is_chain: ClassVar[bool] = False  # where: helper.AnyChain, helper.AnyChainOrList

    def __init__(self, array: Any) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.as_tensor(array).clone())

    def forward(self, volatile: str = "off") -> Tensor:
        """The parameter."""
        return self.W


class PReLU(nn.Module):
    """``max(0, x) + W * min(0, x)``, with ``W`` on the axes behind the first. Source: chainer.links.PReLU."""

    _is_chain: ClassVar[bool] = False  # where: helper.AnyChain, helper.AnyChainOrList

    def __init__(self, shape: Any = (), init: Any = 0.25) -> None:
        super().__init__()
        self.W = parameter(init, shape)

    def forward(self, x: Tensor) -> Tensor:
        """The values."""
        return torch.where(x >= 0, x, x * _beside(self.W, x, 1))


def _begin(layer: Any, size: Any, gamma: Any, beta: Any) -> None:
    if size is None:
        layer.weight, layer.bias = WaitingParameter(), WaitingParameter()
    initialized(layer, weight=gamma, bias=beta)


@torch.no_grad()
def _take_size(layer: Any, size: int) -> None:
    if is_lazy(layer.weight):
        layer.weight.materialize((size,)), layer.bias.materialize((size,))
        nn.init.ones_(layer.weight), nn.init.zeros_(layer.bias)
        layer.reset_parameters()  # first values that are given


class LayerNormalization(nn.LayerNorm):
    """nn.LayerNorm of (batch, size) inputs; a size of None is that of the first batch.

    Source: chainer.links.LayerNormalization.
    """

    def __init__(
        self, size: Any = None, eps: float = 1e-6, initial_gamma: Any = None, initial_beta: Any = None
    ) -> None:
        super().__init__(size or 0, eps)
        _begin(self, size, initial_gamma, initial_beta)

    def forward(self, input: Tensor) -> Tensor:
        """The rows, normalized."""
        _take_size(self, input.shape[1])
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, self.eps)


class GroupNormalization(nn.GroupNorm):
    """nn.GroupNorm; a size of None is that of the first batch. Source: chainer.links.GroupNormalization."""

    def __init__(
        self, groups: int, size: Any = None, eps: float = 1e-5, initial_gamma: Any = None, initial_beta: Any = None
    ) -> None:
        super().__init__(groups, size or 0, eps)
        _begin(self, size, initial_gamma, initial_beta)

    def forward(self, input: Tensor) -> Tensor:
        """The groups of channels, normalized."""
        _take_size(self, input.shape[1])
        return super().forward(input)


class Inception(nn.Module):
    """GoogLeNet's block: convolutions of 1x1, 3x3 and 5x5 and a pooled one, side by side.

    Source: chainer.links.Inception.
    """

    def __init__(
        self,
        in_channels: Any,
        out1: int,
        proj3: int,
        out3: int,
        proj5: int,
        out5: int,
        proj_pool: int,
        conv_init: Any = None,
        bias_init: Any = None,
    ) -> None:
        super().__init__()

        def made(n_in: Any, n_out: int, ksize: int) -> nn.Module:
            layer: nn.Module = conv(2, n_in, n_out, ksize, padding=ksize // 2)
            return initialized(layer, weight=conv_init, bias=bias_init)

        self.conv1, self.projp = made(in_channels, out1, 1), made(in_channels, proj_pool, 1)
        self.proj3, self.conv3 = made(in_channels, proj3, 1), made(proj3, out3, 3)
        self.proj5, self.conv5 = made(in_channels, proj5, 1), made(proj5, out5, 5)

    def forward(self, x: Tensor) -> Tensor:
        """The channels of all four, and ReLU."""
        out3, out5 = self.conv3(F.relu(self.proj3(x))), self.conv5(F.relu(self.proj5(x)))
        pool = self.projp(F.max_pool2d(x, 3, stride=1, padding=1))
        return F.relu(torch.cat([self.conv1(x), out3, out5, pool], 1))


class InceptionBN(nn.Module):
    """The Inception block with batch normalization; an ``out1`` of 0 or no ``proj_pool`` leaves that part out.

    Source: chainer.links.InceptionBN.
    """

    def __init__(
        self,
        in_channels: Any,
        out1: int,
        proj3: int,
        out3: int,
        proj33: int,
        out33: int,
        pooltype: str,
        proj_pool: Any = None,
        stride: int = 1,
        conv_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if pooltype not in ("max", "avg") or out1 > 0 and (stride != 1 or proj_pool is None):
            raise ValueError("pooltype is 'max' or 'avg'; with out1 > 0 the stride is 1 and proj_pool is given")
        self.out1, self.proj_pool, self.stride, self.pooltype = out1, proj_pool, stride, pooltype

        def add(name: str, n_in: Any, n_out: int, ksize: int, stride: int = 1) -> None:
            layer = conv(2, n_in, n_out, ksize, stride=stride, padding=ksize // 2, bias=False)
            self.add_module(name, initialized(layer, weight=conv_init))
            self.add_module(name + "n", nn.BatchNorm2d(n_out, eps=2e-5, dtype=dtype))

        add("proj3", in_channels, proj3, 1)
        add("conv3", proj3, out3, 3, stride)
        add("proj33", in_channels, proj33, 1)
        add("conv33a", proj33, out33, 3)
        add("conv33b", out33, out33, 3, stride)
        if out1 > 0:
            add("conv1", in_channels, out1, 1)
        if proj_pool is not None:
            add("poolp", in_channels, proj_pool, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The channels of all parts."""

        def layers(x: Tensor, *names: str) -> Tensor:
            for name in names:
                x = F.relu(self.get_submodule(name + "n")(self.get_submodule(name)(x)))
            return x

        outs = [layers(x, "conv1")] if self.out1 > 0 else []
        outs += [layers(x, "proj3", "conv3"), layers(x, "proj33", "conv33a", "conv33b")]
        pool = (F.max_pool2d if self.pooltype == "max" else F.avg_pool2d)(x, 3, stride=self.stride, padding=1)
        return torch.cat([*outs, pool if self.proj_pool is None else layers(pool, "poolp")], 1)
