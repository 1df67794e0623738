"""Methods of arrays that tensors have too, with another meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    """``x.astype(dtype)`` of a tensor or an array, with a dtype of either side. Source: numpy.ndarray.astype."""
    name = str(dtype).removeprefix("torch.") if isinstance(dtype, torch.dtype) else np.dtype(dtype).name
    return x.to(getattr(torch, name), copy=copy) if isinstance(x, Tensor) else x.astype(name, copy=copy)


def array_dot(a: Tensor, b: Any) -> Tensor:
    """``a.dot(b)`` with NumPy's dtype: the last axis of ``a`` meets the last but one of ``b``. Source: numpy.dot."""
    other = b if isinstance(b, Tensor) else torch.as_tensor(np.asarray(b))
    kinds = [torch.empty(0, dtype=x.dtype).numpy() for x in (a, other)]
    dtype = torch.from_numpy(np.empty(0, np.result_type(*kinds))).dtype
    a, other = a.to(dtype), other.to(a.device, dtype)
    if a.dim() == 0 or other.dim() == 0:
        return a * other
    return torch.tensordot(a, other, dims=([-1], [max(other.dim() - 2, 0)]))  # type: ignore[no-any-return]


def transposed(x: Any, *axes: Any) -> Any:
    """``x.transpose(*axes)`` of an array or a tensor, all axes in reverse without any. Source: numpy.ndarray."""
    if not isinstance(x, Tensor):
        return x.transpose(*axes)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return x.permute(tuple(order or range(x.dim())[::-1]))  # a tuple: it may be empty


def numpy_methods(x: Any) -> Any:
    """``x`` with NumPy's ``max``, ``std``, ``repeat`` and the like, if it is a tensor; else ``x`` itself.

    For values that are arrays here and tensors there. Source: numpy.ndarray.
    """
    return _ArrayMethods(x.detach()) if isinstance(x, Tensor) else x


class _ArrayMethods:
    def __init__(self, x: Tensor):
        self.x = x

    def copy(self) -> Tensor:  # where: of_numpy.copy
        return self.x.clone()

    def cumprod(self) -> Tensor:  # where: of_numpy.cumprod
        return self.x.flatten().cumprod(0)

    def cumsum(self) -> Tensor:  # where: of_numpy.cumsum
        return self.x.flatten().cumsum(0)

    def dot(self, other: Any) -> Tensor:  # where: of_numpy.dot
        return array_dot(self.x, other)

    def round(self, decimals: int) -> Tensor:  # where: of_numpy.round
        return self.x.round(decimals=decimals)

    def fill(self, value: Any) -> None:  # where: of_numpy.fill
        self.x.fill_(value)

    def flatten(self) -> Tensor:  # where: of_numpy.flatten
        return self.x.flatten().clone()

    def get(self) -> Any:  # where: of_numpy.get
        return self.x.cpu().numpy()

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:  # where: of_numpy.max
        return self.x.amax(self._axes(axis), keepdim=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:  # where: of_numpy.mean
        dtype = None if self.x.is_floating_point() else torch.float64
        return self.x.mean(self._axes(axis), keepdim=keepdims, dtype=dtype)

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:  # where: of_numpy.min
        return self.x.amin(self._axes(axis), keepdim=keepdims)

    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:  # where: of_numpy.std
        return self.x.std(self._axes(axis), correction=ddof, keepdim=keepdims)

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:  # where: of_numpy.var
        return self.x.var(self._axes(axis), correction=ddof, keepdim=keepdims)

    def nonzero(self) -> tuple[Tensor, ...]:  # where: of_numpy.nonzero
        return self.x.nonzero(as_tuple=True)

    def repeat(self, repeats: Any, axis: int | None = None) -> Tensor:  # where: of_numpy.repeat
        return self.x.repeat_interleave(torch.as_tensor(repeats, device=self.x.device), dim=axis)

    def sort(self, axis: int = -1) -> None:  # where: of_numpy.sort
        self.x.copy_(self.x.sort(axis).values)

    def take(self, indices: Any, axis: int | None = None) -> Tensor:  # where: of_numpy.take
        x, axis = (self.x.flatten(), 0) if axis is None else (self.x, axis)
        places = torch.as_tensor(indices, dtype=torch.long, device=x.device)
        return x[(slice(None),) * (axis % x.dim()) + (places,)]

    def _axes(self, axis: Any) -> Any:
        return tuple(range(self.x.ndim)) if axis is None else axis
