"""``h += x`` as Chainer means it: a Variable is bound anew, everything else changes as it does in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def iadd(target: Any, value: Any, may_be_array: bool = False) -> Any:
    """The value of ``target`` after ``target += value``: ``target = iadd(target, value)``.

    A tensor of any shape is not changed, so whoever else holds it keeps its value; lists, numbers and NumPy arrays
    do what ``+=`` does. The dtype stays, as it does beside an array of another one. An array of the host takes a
    tensor that has no graph as an array, and a tensor takes an array.

    Args:
        target: what stands on the left of the operator.
        value: what stands on the right.
        may_be_array: a target that takes no part in a graph is an array, such as running statistics, and changes in
            place; one without axes is a number, which does not.
    Raises:
        TypeError: ``target`` holds integers and the sum would not.
    Source: chainer.Variable.__add__.
    """
    return _updated(operator.add, operator.iadd, target, value, may_be_array)


def isub(target: Any, value: Any, may_be_array: bool = False) -> Any:
    """The value of ``target`` after ``target -= value``, see :func:`iadd`. Source: chainer.Variable.__sub__."""
    return _updated(operator.sub, operator.isub, target, value, may_be_array)


def imul(target: Any, value: Any, may_be_array: bool = False) -> Any:
    """The value of ``target`` after ``target *= value``, see :func:`iadd`. Source: chainer.Variable.__mul__."""
    return _updated(operator.mul, operator.imul, target, value, may_be_array)


def itruediv(target: Any, value: Any, may_be_array: bool = False) -> Any:
    """The value of ``target`` after ``target /= value``, see :func:`iadd`. Source: chainer.Variable.__truediv__."""
    return _updated(operator.truediv, operator.itruediv, target, value, may_be_array)


def floor_division(a: Any, b: Any) -> Any:
    """``a // b``; where a tensor of them is floating, as a Variable is, the floor of the quotient.

    Source: chainer.Variable.__floordiv__.
    """
    floating = any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in (a, b))
    return torch.floor(a / b) if floating else a // b


def _updated(
    new: Callable[[Any, Any], Any], in_place: Callable[[Any, Any], Any], target: Any, value: Any, may_be_array: bool
) -> Any:
    if isinstance(target, np.ndarray) and isinstance(value, torch.Tensor):
        if _in_a_graph(value):
            return new(torch.as_tensor(target).to(value), value)
        value = value.detach().cpu().numpy()
    elif isinstance(target, torch.Tensor) and isinstance(value, np.ndarray):
        value = torch.as_tensor(value).to(target.device)
    if isinstance(target, torch.Tensor) and may_be_array and target.ndim == 0 and not _in_a_graph(target, value):
        return new(target, value)  # a number, which NumPy makes anew
    if not isinstance(target, torch.Tensor) or may_be_array and not _in_a_graph(target, value):
        return in_place(target, value)
    # an array that meets a Variable becomes one of its dtype
    dtype = value.dtype if _in_a_graph(value) and not target.requires_grad else target.dtype
    result = new(target, value)
    if result.dtype != dtype and not dtype.is_floating_point:
        raise TypeError(f"the result would be of {result.dtype}, the target is of {dtype}")
    return result.to(dtype)


def _in_a_graph(*values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) and value.requires_grad for value in values)


__all__ = ["floor_division", "iadd", "imul", "isub", "itruediv"]
