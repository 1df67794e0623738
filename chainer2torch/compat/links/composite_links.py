"""Chainer's links that are made of other links: Inception, MLPConvolution2D, deformable and local convolution."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

from chainer2torch.compat.links.convolution_links import Convolution2D
from chainer2torch.compat.functions.connections import deformable_convolution_2d_sampler, local_convolution_2d
from chainer2torch.compat.initializers.initializers import Zero
from chainer2torch.compat.links.links_base import ChainerLayer, set_unregistered
from chainer2torch.compat.links.normalization_links import BatchNormalization
from chainer2torch.compat.functions.windows import per_axis


class Inception(nn.Module):
    """GoogLeNet's block: 1x1, 3x3 and 5x5 convolutions and a pooled one, side by side on the channel axis, then ReLU.

    (batch, in_channels, h, w) to (batch, out1 + out3 + out5 + proj_pool, h, w). Source: chainer.links.Inception.
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

        def conv(n_in: Any, n_out: int, ksize: int) -> Convolution2D:
            return Convolution2D(n_in, n_out, ksize, pad=ksize // 2, initialW=conv_init, initial_bias=bias_init)

        self.conv1 = conv(in_channels, out1, 1)
        self.proj3 = conv(in_channels, proj3, 1)
        self.conv3 = conv(proj3, out3, 3)
        self.proj5 = conv(in_channels, proj5, 1)
        self.conv5 = conv(proj5, out5, 5)
        self.projp = conv(in_channels, proj_pool, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out1 = self.conv1(x)
        out3 = self.conv3(F.relu(self.proj3(x)))
        out5 = self.conv5(F.relu(self.proj5(x)))
        pool = self.projp(F.max_pool2d(x, 3, stride=1, padding=1))
        return F.relu(torch.cat([out1, out3, out5, pool], 1))


class InceptionBN(nn.Module):
    """The Inception block with batch normalization.

    ``pooltype`` is 'max' or 'avg', else NotImplementedError; without ``proj_pool`` the pooled input is not projected,
    and ``out1`` 0 leaves the 1x1 convolution out. Source: chainer.links.InceptionBN.
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
        if pooltype not in ("max", "avg"):
            raise NotImplementedError(f"pooltype is 'max' or 'avg', not {pooltype!r}")
        if out1 > 0 and (stride != 1 or proj_pool is None):
            raise AssertionError("with out1 > 0 the stride is 1 and proj_pool is given")
        self.out1 = out1
        self.proj_pool = proj_pool
        self.stride = stride
        self.pooltype = pooltype

        def add(name: str, n_in: Any, n_out: int, ksize: int, stride: int = 1) -> None:
            self.add_module(name, Convolution2D(n_in, n_out, ksize, stride, ksize // 2, True, conv_init))
            self.add_module(name + "n", BatchNormalization(n_out, dtype=dtype))

        add("proj3", in_channels, proj3, 1)
        add("conv3", proj3, out3, 3, stride)
        add("proj33", in_channels, proj33, 1)
        add("conv33a", proj33, out33, 3)
        add("conv33b", out33, out33, 3, stride)
        if out1 > 0:
            add("conv1", in_channels, out1, 1)
        if proj_pool is not None:
            add("poolp", in_channels, proj_pool, 1)

    def _layer(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.get_submodule(name + "n")(self.get_submodule(name)(x)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outs = [self._layer("conv1", x)] if self.out1 > 0 else []
        outs.append(self._layer("conv3", self._layer("proj3", x)))
        outs.append(self._layer("conv33b", self._layer("conv33a", self._layer("proj33", x))))
        pool = F.max_pool2d if self.pooltype == "max" else F.avg_pool2d
        pooled = pool(x, 3, stride=self.stride, padding=1)
        outs.append(pooled if self.proj_pool is None else self._layer("poolp", pooled))
        return torch.cat(outs, 1)


class MLPConvolution2D(nn.ModuleList):
    """A convolution and then 1x1 convolutions, with ``activation`` between them, for the sizes in ``out_channels``.

    ``MLPConvolution2D(out_channels, ksize)`` infers the input channels. Source: chainer.links.MLPConvolution2D.
    """

    activation: Callable[[torch.Tensor], torch.Tensor]

    def __init__(
        self,
        in_channels: Any,
        out_channels: Any,
        ksize: Any = None,
        stride: Any = 1,
        pad: Any = 0,
        activation: Callable[[torch.Tensor], torch.Tensor] = F.relu,
        *,
        conv_init: Any = None,
        bias_init: Any = None,
    ) -> None:
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        if len(out_channels) == 0:
            raise AssertionError("out_channels must not be empty")
        convs = [Convolution2D(in_channels, out_channels[0], ksize, stride, pad, False, conv_init, bias_init)]
        convs += [
            Convolution2D(n_in, n_out, 1, initialW=conv_init, initial_bias=bias_init)
            for n_in, n_out in zip(out_channels[:-1], out_channels[1:], strict=True)
        ]
        super().__init__(convs)
        set_unregistered(self, "activation", activation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, conv in enumerate(self):
            x = conv(x if i == 0 else self.activation(x))
        return x


class LocalConvolution2D(ChainerLayer):
    """A convolution with kernels of its own at every place, for images of one size.

    ``W`` is (out_channels, oh, ow, in_channels, kh, kw), ``b`` (out_channels, oh, ow), where as in Chainer oh and ow do
    not count the stride. Sizes that are None are inferred. Source: chainer.links.LocalConvolution2D.
    """

    W: torch.Tensor
    b: torch.Tensor | None

    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        in_size: Any = None,
        ksize: Any = None,
        stride: Any = 1,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.ksize = per_axis(ksize, 2)
        self.stride = per_axis(stride, 2)
        self._new_parameter("W", initialW)
        if nobias:
            self.register_parameter("b", None)
        else:
            self._new_parameter("b", initial_bias, default=0)
        if in_channels is not None and in_size is not None:
            self._make(in_channels, per_axis(in_size, 2))

    def _make(self, in_channels: int, in_size: tuple[int, ...]) -> None:
        places = tuple(size - k + 1 for size, k in zip(in_size, self.ksize, strict=True))
        self._materialize("W", (self.out_channels, *places, in_channels, *self.ksize))
        if self.b is not None:
            self._materialize("b", (self.out_channels, *places))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._make(x.shape[1], (x.shape[2], x.shape[3]))
        return local_convolution_2d(x, self.W, self.b, self.stride)


class DeformableConvolution2D(nn.Module):
    """A convolution that reads at places which another convolution chooses.

    The kernel ``deform_conv.W`` starts at 0, as in Chainer. Source: chainer.links.DeformableConvolution2D.
    """

    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        offset_nobias: bool = False,
        offset_initialW: Any = None,
        offset_initial_bias: Any = None,
        deform_nobias: bool = False,
        deform_initialW: Any = None,
        deform_initial_bias: Any = None,
    ) -> None:
        super().__init__()
        kh, kw = per_axis(ksize, 2)
        self.offset_conv = Convolution2D(
            in_channels, 2 * kh * kw, ksize, stride, pad, offset_nobias, offset_initialW, offset_initial_bias
        )
        self.deform_conv = DeformableSampler(
            in_channels, out_channels, ksize, stride, pad, deform_nobias, deform_initialW, deform_initial_bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.deform_conv(x, self.offset_conv(x))
        return y


class DeformableSampler(ChainerLayer):
    """The second half of DeformableConvolution2D: ``layer(x, offset)``."""

    W: torch.Tensor
    b: torch.Tensor | None

    def __init__(
        self,
        in_channels: Any,
        out_channels: int,
        ksize: Any,
        stride: Any = 1,
        pad: Any = 0,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.out_channels = out_channels
        self.ksize = per_axis(ksize, 2)
        self.stride = per_axis(stride, 2)
        self.pad = per_axis(pad, 2)
        shape = None if in_channels is None else (out_channels, in_channels, *self.ksize)
        self._new_parameter("W", initialW, shape, default=Zero())
        if nobias:
            self.register_parameter("b", None)
        else:
            self._new_parameter("b", initial_bias, None if in_channels is None else out_channels, default=0)

    def forward(self, x: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        self._materialize("W", (self.out_channels, x.shape[1], *self.ksize))
        if self.b is not None:
            self._materialize("b", self.out_channels)
        return deformable_convolution_2d_sampler(x, offset, self.W, self.b, self.stride, self.pad)
