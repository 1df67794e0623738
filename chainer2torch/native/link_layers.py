"""Layers with the arguments of Chainer's links: bases of a program's own links, and for arguments in a dict."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from chainer2torch.native.devices import torch_dtype
from chainer2torch.native.first_values import as_initializer, initialized


class Convolution2D(nn.LazyConv2d):
    """nn.Conv2d with the arguments of chainer.links.Convolution2D; its first batch says an ``in_channels`` of None."""

    cls_to_become = None  # type: ignore[assignment]

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
        dilate: Any = 1,  # where: dilate
        groups: int = 1,  # where: groups
    ) -> None:
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        options: dict[str, Any] = {"stride": stride, "padding": pad, "bias": not nobias}
        options["dilation"] = dilate  # where: dilate
        options["groups"] = groups  # where: groups
        if in_channels is None:
            super().__init__(out_channels, ksize, **options)
            self._initialize_hook.remove()  # what a class below is called with is not what arrives here
        else:
            nn.Conv2d.__init__(self, in_channels, out_channels, ksize, **options)
        initialized(self, weight=initialW, bias=initial_bias)
        if in_channels is not None:  # where: _initialize_params
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:  # where: _initialize_params
        """Where a class below makes what depends on the size; the weight is there, or made now."""
        if is_lazy(self.weight):
            self.initialize_parameters(torch.empty(1, in_channels, 1, 1))

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The maps of a batch, convolved."""
        if is_lazy(self.weight):
            self.initialize_parameters(input)
            self._initialize_params(input.shape[1])  # where: _initialize_params
        return super().forward(input)

    @classmethod
    def from_params(cls, W: Any, b: Any = None, *args: Any, groups: int = 1, **options: Any) -> Convolution2D:
        """A layer with a weight and a bias; no ``b`` is a bias of 0."""
        sizes = (W.shape[1] * groups, W.shape[0], tuple(W.shape[2:]))
        options.update(initialW=W, initial_bias=b, groups=groups)
        return cls(*sizes, *args, **options)


class DilatedConvolution2D(Convolution2D):
    """Convolution2D with ``dilate`` before ``nobias``. Source: chainer.links.DilatedConvolution2D."""

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
        sizes = (in_channels, out_channels, ksize, stride, pad)
        super().__init__(*sizes, nobias, initialW, initial_bias, dilate=dilate)


class Deconvolution2D(nn.LazyConvTranspose2d):
    """nn.ConvTranspose2d with the arguments of chainer.links.Deconvolution2D; its first batch says unknown channels."""

    cls_to_become = None  # type: ignore[assignment]

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
        dilate: Any = 1,  # where: dilate
        groups: int = 1,  # where: groups
    ) -> None:
        if ksize is None:
            in_channels, out_channels, ksize = None, in_channels, out_channels
        options: dict[str, Any] = {"stride": stride, "padding": pad, "bias": not nobias}
        options["dilation"] = dilate  # where: dilate
        options["groups"] = groups  # where: groups
        if in_channels is None:
            super().__init__(out_channels, ksize, **options)
            self._initialize_hook.remove()  # what a class below is called with is not what arrives here
        else:
            nn.ConvTranspose2d.__init__(self, in_channels, out_channels, ksize, **options)
        self.outsize = outsize
        initialized(self, weight=initialW, bias=initial_bias)
        if in_channels is not None:  # where: _initialize_params
            self._initialize_params(in_channels)

    def _initialize_params(self, in_channels: int) -> None:  # where: _initialize_params
        """Where a class below makes what depends on the size; the weight is there, or made now."""
        if is_lazy(self.weight):
            self.initialize_parameters(torch.empty(1, in_channels, 1, 1))

    def forward(self, input: torch.Tensor, output_size: Any = None) -> torch.Tensor:
        """The maps of a batch, of ``outsize`` where that is given."""
        if is_lazy(self.weight):
            self.initialize_parameters(input)
            self._initialize_params(input.shape[1])  # where: _initialize_params
        return super().forward(input, output_size or self.outsize)


class LinearLink(nn.LazyLinear):
    """nn.Linear with the arguments of chainer.links.Linear; it takes the axes behind ``n_batch_axes`` as one."""

    cls_to_become = None  # type: ignore[assignment]

    def __init__(
        self, in_size: Any, out_size: Any = None, nobias: bool = False, initialW: Any = None, initial_bias: Any = None
    ) -> None:
        if out_size is None:
            in_size, out_size = None, in_size
        if in_size is None:
            super().__init__(out_size, bias=not nobias)
            self._initialize_hook.remove()  # what a class below is called with is not what arrives here
        else:
            nn.Linear.__init__(self, in_size, out_size, bias=not nobias)
        initialized(self, weight=initialW, bias=initial_bias)
        if in_size is not None:  # where: _initialize_params
            self._initialize_params(in_size)

    def _initialize_params(self, in_size: int) -> None:  # where: _initialize_params
        """Where a class below makes what depends on the size; the weight is there, or made now."""
        if is_lazy(self.weight):
            self.initialize_parameters(torch.empty(1, in_size))

    @classmethod
    def from_params(cls, W: Any, b: Any = None, nobias: bool = False) -> LinearLink:
        """A layer with a weight and a bias; no ``b`` is a bias of 0."""
        return cls(W.shape[1], W.shape[0], nobias, initialW=W, initial_bias=b)

    def forward(self, input: torch.Tensor, n_batch_axes: int = 1) -> torch.Tensor:
        """The rows of a batch, transformed; the first batch says an ``in_size`` of None."""
        rows = input.flatten(n_batch_axes)
        if is_lazy(self.weight):
            self.initialize_parameters(rows)
            self._initialize_params(rows.shape[-1])  # where: _initialize_params
        return F.linear(rows, self.weight, self.bias)


class BatchNormLink(_BatchNorm):
    """nn.BatchNorm1d, 2d or 3d, as its input wants, with the arguments of chainer.links.BatchNormalization."""

    def __init__(
        self,
        size: Any,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
        initial_beta: Any = None,  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
        axis: None = None,  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
        initial_avg_mean: Any = None,  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
        initial_avg_var: Any = None,  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
    ) -> None:
        if axis is not None:  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
            raise ValueError("axes of its own need another layer")
        super().__init__(size, eps, 1 - decay)
        self.affine = use_gamma and use_beta
        if not use_gamma:
            del self.weight
            # ones and not None: on a GPU the backward pass fails for a bias alone
            self.register_buffer("weight", torch.ones(size), persistent=False)
        if not use_beta:
            self.bias = None  # type: ignore[assignment]
        given = [
            initial_gamma,
            initial_beta,
            initial_avg_mean,
            initial_avg_var,
        ]  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
        held = [
            self.weight if use_gamma else None,
            self.bias,
            self.running_mean,
            self.running_var,
        ]  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
        for param, value in zip(held, given):  # where: initial_gamma, initial_beta, initial_avg_mean, initial_avg_var
            if param is not None and value is not None:
                as_initializer(value)(param)
        if dtype is not None:  # where: dtype
            self.to(torch_dtype(dtype))  # where: dtype

    def _check_input_dim(self, input: torch.Tensor) -> None:
        """Any number of axes from two on."""


class ChainerLayer(nn.Module):
    """Base of layers whose parameters are filled at once, or when their shapes become known.

    ``_chainer_names``: what Chainer calls its parameters.
    """

    _chainer_names: ClassVar[dict[str, str]] = {"weight": "W", "bias": "b"}
    _is_chain: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._initializers: dict[str, Any] = {}

    def _new_parameter(
        self, name: str, initializer: Any, shape: Any = None, default: Any = None, dtype: Any = None
    ) -> None:
        fill = self._initializers[name] = as_initializer(initializer, default)
        if getattr(fill, "dtype", None) is not None:
            fill.dtype = dtype = torch_dtype(dtype or fill.dtype)
        created: Any = UninitializedParameter(dtype=dtype)  # type: ignore[call-arg]
        created.initializer = fill
        setattr(self, name, created)
        if shape is not None:
            self._materialize(name, shape)

    def _new_buffer(self, name: str, initializer: Any, shape: Any = None, dtype: Any = None) -> None:
        self._initializers[name] = as_initializer(initializer)
        self.register_buffer(name, UninitializedBuffer(dtype=dtype))  # type: ignore[call-arg]
        if shape is not None:
            self._materialize(name, shape)

    @torch.no_grad()
    def _materialize(self, name: str, shape: Any) -> None:
        tensor = getattr(self, name)
        if is_lazy(tensor):
            tensor.materialize(tuple(map(int, shape if isinstance(shape, (tuple, list)) else (shape,))))
            self._initializers[name](tensor)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            if tensor is not None:
                destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if tensor is not None and is_lazy(tensor) and given is not None and not is_lazy(given):
                tensor.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
