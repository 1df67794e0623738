"""Chainer's first values of parameters, for layers of torch.nn. Initializers are nn.init: docs/native-helpers.md."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TypeVar

import torch
from torch import nn
from torch.nn.modules.conv import _ConvNd
from torch.nn.parameter import is_lazy

_Model = TypeVar("_Model", bound=nn.Module)
_LAYERS = (nn.Linear, nn.Bilinear, _ConvNd, nn.RNNBase, nn.RNNCellBase)
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def init_like_chainer(model: _Model) -> _Model:
    """Chainer's first values for the layers of a module: weights ~ N(0, 1 / fan_in), biases 0.

    The forget gate of an LSTMCell has the bias 1, as L.LSTM and L.StatelessLSTM have; nn.LSTM has 0, as NStepLSTM.
    Call it at the end of ``__init__``, before values that are set there; it returns ``model``. Submodules with an
    ``__init__`` of their own are left to that; layers in nn.Sequential, nn.ModuleList and nn.ModuleDict are filled.
    A lazy layer is filled when its shape is inferred. Embedding, BatchNorm and the like begin as Chainer's do anyhow.
    Source: chainer.initializers.LeCunNormal, what links use by default.
    """
    for layer in _layers(model):
        if any(is_lazy(param) for param in layer.parameters(recurse=False)):
            layer.reset_parameters = functools.partial(_fill, layer)  # type: ignore[assignment]
        else:
            _fill(layer)
    return model


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, _LAYERS):
        yield module
    for child in module.children():
        if isinstance(child, _LAYERS) or type(child) in _CONTAINERS:
            yield from _layers(child)


@torch.no_grad()
def _fill(layer: nn.Module) -> None:
    vars(layer).pop("reset_parameters", None)
    for name, param in layer.named_parameters(recurse=False):
        fan_in = (param[:, 0] if isinstance(layer, nn.Bilinear) else param[:1]).numel()
        if name.startswith("weight"):
            nn.init.normal_(param, std=max(fan_in, 1) ** -0.5)
        else:
            nn.init.zeros_(param)
            if isinstance(layer, nn.LSTMCell) and name == "bias_ih":
                param[layer.hidden_size : 2 * layer.hidden_size] = 1
