"""Wrapping arrays: chainer.Variable, chainer.as_variable, chainer.as_array; parameters that have no shape yet."""
from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn.parameter import is_lazy


def variable(data: Any, *, name: str | None = None, grad: Any = None, requires_grad: bool = True) -> torch.Tensor:
    """A tensor that shares the memory of an array and is the start of a graph of its own.

    Args:
        data: a tensor or ndarray.
        name: accepted as in Chainer and not used: a tensor has no name.
        grad: its first gradient.
        requires_grad: whether a gradient is computed for it. Integers and booleans never have one.
    Raises:
        TypeError: ``data`` is no array.
    Source: chainer.Variable.
    """
    if not isinstance(data, (torch.Tensor, np.ndarray)):
        raise TypeError(f"a tensor or ndarray is expected, not {type(data).__name__}")
    result = torch.as_tensor(data).detach()
    result.requires_grad_(requires_grad and result.is_floating_point())
    if grad is not None:
        result.grad = torch.as_tensor(grad, device=result.device)
    return result


def as_variable(obj: Any) -> torch.Tensor:
    """A tensor as it is, an ndarray as a tensor that shares its memory and requires no gradient.

    Source: chainer.as_variable.
    """
    return obj if isinstance(obj, torch.Tensor) else torch.as_tensor(obj)


def as_array(obj: Any) -> Any:
    """The array of a tensor: a tensor without a graph that shares its memory. Other objects are returned as they are.

    Source: chainer.as_array.
    """
    return obj.detach() if isinstance(obj, torch.Tensor) else obj


def parameter_is_initialized(self: torch.nn.Parameter) -> bool:
    """Whether the parameter has a shape and values. Source: chainer.Parameter.is_initialized."""
    return not is_lazy(self)
