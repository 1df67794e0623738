"""Starts torch's own layers from Chainer's initial values."""

import functools
from typing import Any

import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.parameter import UninitializedParameter

from chainer2torch.compat.initializers.initializers import as_initializer


def init_like_chainer(module: nn.Module) -> None:
    """Fills the torch layers that are children of ``module`` as Chainer fills its links.

    Weights of linear and convolution layers get LeCunNormal, embeddings N(0, 1), biases 0; normalization layers start
    alike in both. Layers in a plain ``nn.Sequential``, ``nn.ModuleList`` or ``nn.ModuleDict`` count as children; other
    modules take care of their own. A lazy layer is filled when its shape is inferred, and not when weights are loaded
    before that. A layer is filled once: neither a second call nor ``initialize`` before it overwrites anything.
    Source: the default initializers of chainer.links.
    """
    for child in module.children():
        if type(child) in (nn.Sequential, nn.ModuleList, nn.ModuleDict):
            init_like_chainer(child)
        elif isinstance(child, (nn.Linear, _ConvNd, nn.Embedding)) and "_chainer_init" not in vars(child):
            initialize(child)


def initialize(layer: nn.Module, W: Any = None, b: Any = None) -> Any:
    """Fills the weight and the bias of one torch layer and returns the layer.

    ``W`` and ``b`` are what Chainer's ``initialW`` and ``initial_bias`` take: None (Chainer's default), a number, an
    array, a tensor or an initializer. The layer is a linear, convolution, transposed convolution, embedding or
    normalization layer (there ``W`` is gamma and ``b`` beta), lazy or not; an initializer with a ``dtype`` of its own
    decides the dtype of its parameter. Other layers raise TypeError. Source: the constructors of chainer.links.
    """
    if not isinstance(layer, (nn.Linear, _ConvNd, nn.Embedding, _NormBase, nn.LayerNorm, nn.GroupNorm)):
        raise TypeError(f"initialize() does not know {type(layer).__name__}")
    # Calling it by this name is what a lazy layer does when its shape has been inferred: a hook on forward would also
    # overwrite weights that were loaded before.
    layer.reset_parameters = functools.partial(_fill_layer, layer, W, b)  # type: ignore[method-assign]
    layer.__dict__["_chainer_init"] = None  # that it is there is what counts
    if any(isinstance(p, UninitializedParameter) for p in layer.parameters(recurse=False)):
        layer.__dict__["_chainer_lazy"] = True  # for its in_size, which stays None in Chainer
    else:
        _fill_layer(layer, W, b)
    return layer


def _fill_layer(layer: nn.Module, W: Any, b: Any) -> None:
    default_weight: Any = nn.init.normal_
    if not isinstance(layer, nn.Embedding):
        default_weight = None if isinstance(layer, (nn.Linear, _ConvNd)) else 1
    if isinstance(layer, _NormBase):
        layer.reset_running_stats()
    for parameter, initializer in (
        (layer.weight, as_initializer(W, default_weight)),
        (getattr(layer, "bias", None), as_initializer(b, 0)),
    ):
        if isinstance(parameter, nn.Parameter) and not isinstance(parameter, UninitializedParameter):
            dtype = getattr(initializer, "dtype", None)
            if isinstance(dtype, torch.dtype) and dtype != parameter.dtype:
                parameter.data = parameter.data.to(dtype)
            with torch.no_grad():
                initializer(parameter)
