"""Chainer's first values of parameters, for layers of torch.nn. Initializers are nn.init: docs/native-helpers.md."""

from __future__ import annotations

import functools
import math
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn as nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.parameter import UninitializedParameter, is_lazy

from chainer2torch.native.devices import torch_dtype

_Model = TypeVar("_Model", bound=nn.Module)
_LAYERS = (nn.Linear, nn.Bilinear, _ConvNd, nn.RNNBase, nn.RNNCellBase)


@torch.no_grad()
def initialized(layer: _Model, **values: Any) -> _Model:
    """A layer with first values of its own, by name: an initializer, a number or an array each; None: Chainer's.

    Those are N(0, 1 / fan_in) and 0; the forget gate of an LSTMCell has the bias 1, as in L.LSTM, that of nn.LSTM 0.
    A lazy layer is filled when its shape is inferred. Source: ``initialW`` and ``initial_bias`` of chainer.links.
    """
    if any(is_lazy(param) for param in layer.parameters(recurse=False)):  # where: Lazy*
        vars(layer).update(filled_when_inferred=True, reset_parameters=functools.partial(initialized, layer, **values))
        return layer
    vars(layer).pop("reset_parameters", None)  # where: Lazy*
    for name, param in layer.named_parameters(recurse=False) if isinstance(layer, _LAYERS) else ():
        std = param[:1].numel() ** -0.5
        if isinstance(layer, nn.Bilinear) and name == "weight":  # where: own.Bilinear
            std = param[:, 0].numel() ** -0.5
        if name.startswith("weight"):
            nn.init.normal_(param, std=std)
        else:
            nn.init.zeros_(param)
        if isinstance(layer, nn.LSTMCell) and name == "bias_ih":  # where: LSTMCell
            param[layer.hidden_size : 2 * layer.hidden_size] = 1
    return filled(layer, **values)  # where: helper.filled
    for name, value in values.items():  # where: !helper.filled
        # a normalization without a gamma has ones there, which nothing fills
        given: Any = None if name in layer._non_persistent_buffers_set else getattr(layer, name)
        if callable(value) and given is not None:
            given.data = given.data.to(torch_dtype(getattr(value, "dtype", None) or given.dtype))  # where: dtype
            value(given)
        elif value is not None and given is not None:
            given.copy_(torch.as_tensor(value))
    return layer  # where: !helper.filled


@torch.no_grad()
def filled(layer: _Model, **values: Any) -> _Model:
    """A layer with values by name: an initializer, a number or an array each; None leaves what is there.

    The last lines of ``initialized`` stand here once more, as most projects need one of the two. Source: ``initialW``
    of chainer.links.EmbedID, ``initial_gamma`` of chainer.links.BatchNormalization.
    """
    for name, value in values.items():
        # a normalization without a gamma has ones there, which nothing fills
        given: Any = None if name in layer._non_persistent_buffers_set else getattr(layer, name)
        if callable(value) and given is not None:
            given.data = given.data.to(torch_dtype(getattr(value, "dtype", None) or given.dtype))  # where: dtype
            value(given)
        elif value is not None and given is not None:
            given.copy_(torch.as_tensor(value))
    return layer


def given_size(layer: Any) -> int | None:
    """in_features or in_channels as the constructor got it: None where the first batch said it.

    Source: chainer.links.Linear.in_size.
    """
    if getattr(layer, "filled_when_inferred", False) or "reset_parameters" in vars(layer):
        return None
    return layer.in_features if isinstance(layer, nn.Linear) else layer.in_channels


def lecun_normal_(param: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """N(0, scale^2 / fan_in). Source: chainer.initializers.LeCunNormal; HeNormal is that with a scale of sqrt(2)."""
    return nn.init.normal_(param, std=scale * param[0].numel() ** -0.5)


def lecun_uniform_(param: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """U(-a, a) with a = scale sqrt(3 / fan_in). Source: chainer.initializers.LeCunUniform."""
    limit = scale * (3 / param[0].numel()) ** 0.5
    return nn.init.uniform_(param, -limit, limit)


class Constant:
    """Fills a tensor or an array with a number or an array. Source: chainer.initializers.Constant."""

    def __init__(self, fill_value: Any, dtype: Any = None) -> None:
        self.fill_value = fill_value
        self.dtype = None if dtype is None else torch_dtype(dtype)

    @torch.no_grad()
    def __call__(self, array: Any) -> None:
        """Fills it in place."""
        array[...] = torch.as_tensor(self.fill_value) if isinstance(array, torch.Tensor) else self.fill_value


def NaN(dtype: Any = None) -> Constant:  # noqa: N802 - Chainer's name
    """Fills with NaN. Source: chainer.initializers.NaN."""
    return Constant(math.nan, dtype)


def as_initializer(value: Any, default: Any = None) -> Any:
    """What ``initialW`` and ``initial_bias`` mean: a function that fills, a number or an array; None is the default.

    That is N(0, 1 / fan_in) where there is no other. Anything else raises TypeError. Source: the constructors of
    chainer.links.
    """
    value = default if value is None else value
    if value is None:
        return lecun_normal_
    if not (callable(value) or np.isscalar(value) or hasattr(value, "shape")):
        raise TypeError(f"invalid type of initializer: {type(value)}")
    return value if callable(value) else functools.partial(fill_with, value)


@torch.no_grad()
def fill_with(value: Any, array: Any) -> None:
    """Fills a tensor or an array with a number or an array, as chainer.initializers.Constant."""
    array[...] = torch.as_tensor(value) if isinstance(array, torch.Tensor) else value


class WaitingParameter(UninitializedParameter):
    """A parameter without a shape, which the values of a state_dict give it, too. Source: chainer.Parameter."""

    def detach(self) -> Any:
        """Itself, for a state_dict of a model that has not run."""
        return self

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Takes the values and their shape."""
        self.materialize(other.shape, dtype=other.dtype)
        return self.copy_(other, non_blocking)

    def __deepcopy__(self, memo: Any) -> Any:
        made = super().__deepcopy__(memo)  # type: ignore[no-untyped-call]
        vars(made).update(vars(self))
        return made


@torch.no_grad()
def parameter(values: Any = None, shape: Any = None) -> Any:
    """A parameter with first values: an initializer, a number or an array; None is NaN. Source: chainer.Parameter.

    Without a shape it has that of the array, or waits for initialize_parameter.
    """
    if shape is None and isinstance(values, (np.ndarray, torch.Tensor)):
        values = torch.as_tensor(values)
        return nn.Parameter(values, requires_grad=values.is_floating_point())  # whole numbers have no gradient
    if not callable(values):
        values = functools.partial(torch.Tensor.copy_, other=torch.as_tensor(math.nan if values is None else values))
    if shape is None:  # where: initialize_parameter, copydata, initialize
        waiting: Any = WaitingParameter()
        waiting.initializer = values
        return waiting
    param = nn.Parameter(torch.empty(shape))
    if getattr(values, "dtype", None) is not None:  # where: dtype
        param.data = param.data.to(torch_dtype(values.dtype))
    values(param)
    param.initializer = values  # type: ignore[attr-defined]  # where: copy_link, repeat_link
    return param


def initialize_parameter(param: Any, shape: Any) -> None:
    """Gives a parameter that waits for it a shape, and its first values; one with this shape has them.

    Source: chainer.Parameter.initialize.
    """
    if not is_lazy(param) and tuple(param.shape) == tuple(shape):  # where: _initialize_params
        return  # where: _initialize_params
    made = parameter(param.initializer, shape)
    param.materialize(made.shape, dtype=made.dtype)
    param.data.copy_(made)


@torch.no_grad()
def initialize_layer(layer: Any, shape: Any) -> None:
    """Gives a lazy Linear or convolution the shape of its weight, and first values: it sees a batch of that size.

    Raises TypeError where it has one already. Source: chainer.Parameter.initialize.
    """
    if not is_lazy(layer.weight):
        raise TypeError("the parameter is initialized already")
    sizes = [(k - 1) * d + 1 for k, d in zip(*(getattr(layer, name, ()) for name in ("kernel_size", "dilation")))]
    layer(torch.zeros(1, int(shape[1]) * getattr(layer, "groups", 1), *sizes, device=layer.weight.device))
