"""Chainer's deconvolution links (transposed convolutions), with Chainer's arguments."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.links.convolution_links import _check_rank, _sizes
from chainer2torch.compat.links.links_base import ChainerLayer


class DeconvolutionND(ChainerLayer):
    """Transposed convolution over ``ndim`` axes (1 to 3).

    ``weight`` is (in_channels, out_channels / groups, kernel). ``outsize`` is less than a stride away
    from ``(size - 1) * stride + ksize - 2 * pad``, which is meant by None; else RuntimeError. The rest as for
    ConvolutionND. Source: chainer.links.DeconvolutionND.
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
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__()
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        self.ndim = ndim
        self.out_channels = out_channels
        self.ksize = _sizes(ksize, ndim)
        self.stride = _sizes(stride, ndim)
        self.pad = _sizes(pad, ndim)
        self.dilate = _sizes(dilate, ndim)
        self.groups = int(groups)
        self.outsize = None if outsize is None else _sizes(outsize, ndim)
        self._new_parameter("weight", initialW, None if in_channels is None else self._weight_shape(in_channels))
        if nobias:
            self.register_parameter("bias", None)
        else:
            self._new_parameter("bias", initial_bias, out_channels, default=0)

    def _weight_shape(self, in_channels: int) -> tuple[int, ...]:
        if self.out_channels % self.groups != 0 or in_channels % self.groups != 0:
            raise ValueError(f"{self.groups} groups do not divide {in_channels} and {self.out_channels} channels")
        return (in_channels, self.out_channels // self.groups, *self.ksize)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _check_rank(self, x)
        self._materialize("weight", self._weight_shape(x.shape[1]))
        deconvolution: Callable[..., torch.Tensor] = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[
            self.ndim - 1
        ]
        extra = self._extra_sizes(x)
        y = deconvolution(
            x, self.weight, self.bias, self.stride, self.pad, [max(n, 0) for n in extra], self.groups, self.dilate
        )
        for axis, n in enumerate(extra, 2):
            y = y if n >= 0 else y.narrow(axis, 0, y.shape[axis] + n)
        return y

    def _extra_sizes(self, x: torch.Tensor) -> list[int]:
        """How much ``outsize`` asks for beyond the size that just takes every element of the input."""
        if self.outsize is None:
            return [0] * self.ndim
        extra = []
        for i, size in enumerate(self.outsize):
            usual = (x.shape[2 + i] - 1) * self.stride[i] + self.dilate[i] * (self.ksize[i] - 1) + 1 - 2 * self.pad[i]
            if not abs(size - usual) < self.stride[i]:
                raise RuntimeError(f"outsize {self.outsize} does not fit an input of shape {tuple(x.shape)}")
            extra.append(size - usual)
        return extra


class Deconvolution1D(DeconvolutionND):
    """Transposed convolution over one axis. Source: chainer.links.Deconvolution1D."""

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            1, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias, dilate, groups
        )


class Deconvolution2D(DeconvolutionND):
    """Transposed convolution over two axes; ``Deconvolution2D(out_channels, ksize)`` infers the input channels.

    Source: chainer.links.Deconvolution2D.
    """

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        *,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            2, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias, dilate, groups
        )


class Deconvolution3D(DeconvolutionND):
    """Transposed convolution over three axes. Source: chainer.links.Deconvolution3D."""

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        outsize: Any = None,
        initialW: Any = None,
        initial_bias: Any = None,
        dilate: Any = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            3, in_channels, out_channels, ksize, stride, pad, nobias, outsize, initialW, initial_bias, dilate, groups
        )
