"""Making Variables and Parameters: chainer.Variable, chainer.Parameter, chainer.as_variable, chainer.as_array."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn.parameter import UninitializedParameter, is_lazy

from chainer2torch.compat.backend.devices import _as_tensor
from chainer2torch.compat.initializers.initializers import Constant, NaN, as_initializer, generate_array
from chainer2torch.compat.links.link_names import has_values_in_chainer


def variable(data: Any, *, name: str | None = None, grad: Any = None, requires_grad: bool = True) -> torch.Tensor:
    """A tensor that shares the memory of an array and is the start of a graph of its own.

    An array that runs backwards (``x[::-1]``) or is read-only is copied.

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
    result = _tensor(data).detach()
    result.requires_grad_(requires_grad and result.is_floating_point())
    if grad is not None:
        result.grad = torch.as_tensor(grad, device=result.device)
    return result


def is_variable(x: Any) -> bool:
    """Whether ``x`` is a tensor that takes gradients, which an array of the program's never does.

    For code that makes a :func:`variable` of what is none yet. Source: ``isinstance(x, chainer.Variable)``.
    """
    return isinstance(x, torch.Tensor) and x.requires_grad


def as_variable(obj: Any) -> torch.Tensor:
    """A tensor as it is, an ndarray as a tensor that shares its memory and requires no gradient.

    Source: chainer.as_variable.
    """
    return _tensor(obj)


def _tensor(data: Any) -> torch.Tensor:
    return data if isinstance(data, torch.Tensor) else torch.as_tensor(_as_tensor(data))


def as_array(obj: Any) -> Any:
    """The array of a tensor: a tensor without a graph that shares its memory. Other objects are returned as they are.

    That of a parameter that has no shape yet is None. Source: chainer.as_array.
    """
    return (obj.detach() if parameter_is_initialized(obj) else None) if isinstance(obj, torch.Tensor) else obj


def parameter(initializer: Any = None, shape: Any = None, name: str | None = None) -> torch.nn.Parameter:
    """A parameter with its first values.

    Args:
        initializer: an initializer, a number or an array; None is NaN. An array without ``shape`` is shared.
        shape: an int or a tuple; None with an initializer: the parameter gets its shape by
            :func:`initialize_parameter`.
        name: accepted as in Chainer and not used.
    Returns:
        A Parameter of the initializer's dtype, or torch's default. Its gradient is None (in Chainer NaN).
    Source: chainer.Parameter.
    """
    is_array = isinstance(initializer, (torch.Tensor, np.ndarray))
    if is_array and shape is None:
        values = _tensor(initializer).detach()
        return torch.nn.Parameter(values, requires_grad=values.is_floating_point())
    fill = Constant(initializer) if is_array else as_initializer(initializer, NaN())
    created: Any = UninitializedParameter() if shape is None else torch.nn.Parameter(generate_array(fill, shape))
    created.initializer = fill  # for its first shape, and for a copy that is filled anew
    result: torch.nn.Parameter = created
    return result


def initialize_parameter(self: torch.nn.Parameter, shape: Any) -> None:
    """Gives a parameter that has none its shape (an int or a tuple) and its first values.

    Raises:
        TypeError: the parameter has a shape already.
        AttributeError: it is one of a lazy layer of torch.nn, which gets its shape from the first input only.
    Source: chainer.Parameter.initialize.
    """
    if not isinstance(self, UninitializedParameter):
        raise TypeError("the parameter is initialized already")
    fill = getattr(self, "initializer", None)
    if fill is None:
        raise AttributeError("a lazy layer of torch.nn gets its shapes from the first input: call the layer instead")
    values = generate_array(fill, shape, device=self.device)
    self.materialize(values.shape, dtype=values.dtype)
    self.data.copy_(values)


def parameter_is_initialized(self: torch.Tensor) -> bool:
    """Whether the parameter has a shape and values. Source: chainer.Parameter.is_initialized.

    Raises:
        RuntimeError: it is the bias of a lazy layer of torch.nn, which has values in Chainer and none here.
    """
    if has_values_in_chainer(self):
        raise RuntimeError(
            "the bias of a lazy layer has its values in Chainer from the start, here with the first "
            "input: call the model once before"
        )
    return not is_lazy(self)


def copydata(self: torch.Tensor, var: torch.Tensor) -> None:
    """Copies the values of ``var``, of the same shape, to ``self``; a parameter without a shape gets the other's.

    Raises:
        AttributeError: ``var`` is a parameter of a lazy layer of torch.nn, which gets its values from the first input.
    Source: chainer.Variable.copydata.
    """
    if is_lazy(var):
        if is_lazy(self):
            return
        initialize_parameter(var, tuple(self.shape))  # type: ignore[arg-type]
    elif is_lazy(self):
        self.materialize(var.shape)
    self.data.copy_(var.detach())  # a graph that was made before goes backward with the new values, as in Chainer
