"""Chainer's convolution links, with Chainer's arguments."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.links.links_base import ChainerLayer, check_bias_size


class ConvolutionND(ChainerLayer):
    """Convolution over ``ndim`` axes (1 to 3): (batch, in_channels, sizes) to (batch, out_channels, sizes).

    ``in_channels`` None is inferred at the first forward; ``ConvolutionND(ndim, out_channels, ksize)`` means that too.
    ``weight`` is (out_channels, in_channels / groups, kernel), by default LeCunNormal; ``bias`` (out_channels,), 0.
    ``cover_all`` pads on the right so that every input takes part. Channels that ``groups`` does not divide raise
    ValueError. Source: chainer.links.ConvolutionND.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None

    def __init__(
        self,
        ndim: int,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.ndim = ndim
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.ksize = _sizes(ksize, ndim)
        self.stride = _sizes(stride, ndim)
        self.pad = _sizes(pad, ndim)
        self.dilate = _sizes(dilate, ndim)
        self.groups = int(groups)
        self.cover_all = cover_all
        self._new_parameter("weight", initialW, None if in_channels is None else self._weight_shape(in_channels))
        if nobias:
            self.register_parameter("bias", None)
        else:
            self._new_parameter("bias", initial_bias, out_channels, default=0)

    @classmethod
    def from_params(
        cls,
        W: Any,
        b: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        *,
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> "ConvolutionND":
        """A layer with a weight (out_channels, in_channels / groups, kernel) and a bias; no ``b`` is a bias of 0.

        ValueError for a bias of another size.
        """
        check_bias_size(W, b)
        return cls(
            W.ndim - 2,
            W.shape[1] * groups,
            W.shape[0],
            tuple(W.shape[2:]),
            stride,
            pad,
            nobias,
            initialW=W,
            initial_bias=b,
            cover_all=cover_all,
            dilate=dilate,
            groups=groups,
        )

    def _weight_shape(self, in_channels: int) -> tuple[int, ...]:
        if self.out_channels % self.groups != 0 or in_channels % self.groups != 0:
            raise ValueError(f"{self.groups} groups do not divide {in_channels} and {self.out_channels} channels")
        return (self.out_channels, in_channels // self.groups, *self.ksize)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _check_rank(self, x)
        self._materialize("weight", self._weight_shape(x.shape[1]))
        if self.cover_all:
            x = F.pad(x, self._cover_all_padding(x))
        convolution: Callable[..., torch.Tensor] = (F.conv1d, F.conv2d, F.conv3d)[self.ndim - 1]
        return convolution(x, self.weight, self.bias, self.stride, self.pad, self.dilate, self.groups)

    def _cover_all_padding(self, x: torch.Tensor) -> list[int]:
        padding: list[int] = []
        for axis in reversed(range(self.ndim)):
            span = x.shape[2 + axis] + 2 * self.pad[axis] - self.dilate[axis] * (self.ksize[axis] - 1) - 1
            padding += [0, -span % self.stride[axis]]
        return padding

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, ksize={self.ksize}, stride={self.stride}, pad={self.pad}, "
            f"dilate={self.dilate}, groups={self.groups}, bias={self.bias is not None}"
        )


class Convolution1D(ConvolutionND):
    """Convolution over one axis. Source: chainer.links.Convolution1D."""

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            1, in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias, cover_all, dilate, groups
        )


class Convolution2D(ConvolutionND):
    """Convolution over two axes; ``Convolution2D(out_channels, ksize)`` infers the input channels.

    Source: chainer.links.Convolution2D.
    """

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        *,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            2, in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias, False, dilate, groups
        )

    @classmethod
    def from_params(  # type: ignore[override]
        cls,
        W: Any,
        b: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        *,
        dilate: Any = 1,
        groups: int = 1,
    ) -> "Convolution2D":
        """A layer with the given weight and bias, as for ConvolutionND."""
        check_bias_size(W, b)
        return cls(
            W.shape[1] * groups,
            W.shape[0],
            tuple(W.shape[2:]),
            stride,
            pad,
            nobias,
            initialW=W,
            initial_bias=b,
            dilate=dilate,
            groups=groups,
        )


class Convolution3D(ConvolutionND):
    """Convolution over three axes. Source: chainer.links.Convolution3D."""

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
        cover_all: bool = False,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            3, in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias, cover_all, dilate, groups
        )


class DilatedConvolution2D(ConvolutionND):
    """Convolution over two axes with ``dilate``. Source: chainer.links.DilatedConvolution2D."""

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        dilate: Any = 1,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__(
            2, in_channels, out_channels, ksize, stride, pad, nobias, initialW, initial_bias, False, dilate
        )


class DepthwiseConvolution2D(ChainerLayer):
    """A convolution of every input channel by itself, with ``channel_multiplier`` kernels each.

    (batch, in_channels, height, width) to (batch, in_channels * channel_multiplier, ...). ``W`` keeps Chainer's shape
    (channel_multiplier, in_channels, kernel) and its initial distribution, whose fan counts all input channels; ``b``
    is (in_channels * channel_multiplier,). ``in_channels`` None is inferred. Source:
    chainer.links.DepthwiseConvolution2D.
    """

    W: torch.Tensor
    b: torch.Tensor | None

    def __init__(
        self,
        in_channels: Any,
        channel_multiplier: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.channel_multiplier = channel_multiplier
        self.ksize = _sizes(ksize, 2)
        self.stride = _sizes(stride, 2)
        self.pad = _sizes(pad, 2)
        self.nobias = nobias
        # HeNormal(1 / sqrt 2) in Chainer: the same standard deviation as LeCunNormal
        self._new_parameter("W", initialW)
        if nobias:
            self.register_parameter("b", None)
        else:
            self._new_parameter("b", initial_bias, default=0)
        if in_channels is not None:
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:
        self._materialize("W", (self.channel_multiplier, in_channels, *self.ksize))
        if self.b is not None:
            self._materialize("b", self.channel_multiplier * in_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._initialize_params(x.shape[1])
        weight = self.W.transpose(0, 1).reshape(-1, 1, *self.ksize)  # the kernels of a channel are neighbours in torch
        return F.conv2d(x, weight, self.b, self.stride, self.pad, groups=self.W.shape[1])


def _sizes(value: Any, ndim: int) -> tuple[int, ...]:
    """An int for every axis, or a sequence with one for each; another length raises ValueError."""
    sizes = tuple(value) if hasattr(value, "__getitem__") else (value,) * ndim
    if len(sizes) != ndim:
        raise ValueError(f"{value} is not a size for {ndim} axes")
    return sizes


def _check_rank(layer: Any, x: torch.Tensor) -> None:
    # torch's convolutions also take a single sample, without the batch axis
    if x.dim() != layer.ndim + 2:
        raise RuntimeError(f"{type(layer).__name__} takes {layer.ndim + 2} axes, not an input of {tuple(x.shape)}")
