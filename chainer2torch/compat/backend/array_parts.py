"""NumPy's functions that make, shape and reduce arrays, on tensors of one device (the parts of ``ArrayModule``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.array_dtypes import numpy_dtype, result_dtype, tensor_from, torch_dtype


class _Creation:
    """Functions that make arrays. ``dtype`` is a dtype of NumPy or torch; NumPy's defaults hold."""

    device: torch.device

    def array(self, object: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> torch.Tensor:
        x = tensor_from(object, self.device)
        x = x.to(x.dtype if dtype is None else torch_dtype(dtype), copy=bool(copy))
        return x.reshape((1,) * (ndmin - x.dim()) + x.shape) if ndmin > x.dim() else x

    def asarray(self, a: Any, dtype: Any = None) -> torch.Tensor:
        return self.array(a, dtype, copy=False)

    asanyarray = asarray

    def ascontiguousarray(self, a: Any, dtype: Any = None) -> torch.Tensor:
        return self.array(a, dtype, copy=False, ndmin=1).contiguous()

    def zeros(self, shape: Any, dtype: Any = float) -> torch.Tensor:
        return torch.zeros(_as_shape(shape), dtype=torch_dtype(dtype), device=self.device)

    def ones(self, shape: Any, dtype: Any = float) -> torch.Tensor:
        return torch.ones(_as_shape(shape), dtype=torch_dtype(dtype), device=self.device)

    def empty(self, shape: Any, dtype: Any = float) -> torch.Tensor:
        return torch.empty(_as_shape(shape), dtype=torch_dtype(dtype), device=self.device)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None) -> torch.Tensor:
        value = tensor_from(fill_value, self.device)
        value = value if dtype is None else value.to(torch_dtype(dtype))
        return value.broadcast_to(_as_shape(shape)).clone()

    def zeros_like(self, a: Any, dtype: Any = None) -> torch.Tensor:
        return self.full_like(a, 0, dtype)

    def ones_like(self, a: Any, dtype: Any = None) -> torch.Tensor:
        return self.full_like(a, 1, dtype)

    def empty_like(self, a: Any, dtype: Any = None) -> torch.Tensor:
        return self.zeros_like(a, dtype)

    def full_like(self, a: Any, fill_value: Any, dtype: Any = None) -> torch.Tensor:
        a = tensor_from(a, self.device)
        return self.full(tuple(a.shape), fill_value, a.dtype if dtype is None else dtype)

    def arange(self, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> torch.Tensor:
        start, stop = (0, start) if stop is None else (start, stop)
        numbers = [n.item() if isinstance(n, torch.Tensor) else n for n in (start, stop, step)]
        return tensor_from(np.arange(*numbers, dtype=None if dtype is None else numpy_dtype(dtype)), self.device)

    def linspace(self, start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> torch.Tensor:
        dtype = None if dtype is None else numpy_dtype(dtype)
        return tensor_from(np.linspace(start, stop, num, endpoint, dtype=dtype), self.device)

    def eye(self, N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> torch.Tensor:
        return tensor_from(np.eye(N, M, k, dtype=numpy_dtype(dtype)), self.device)

    def identity(self, n: int, dtype: Any = float) -> torch.Tensor:
        return self.eye(n, dtype=dtype)


class _Shapes:
    """Functions that join, split and reshape."""

    device: torch.device

    def concatenate(self, arrays: Sequence[Any], axis: int | None = 0) -> torch.Tensor:
        parts = self._same_dtype(arrays)
        if axis is None:
            return torch.cat([part.reshape(-1) for part in parts])
        if any(part.dim() != parts[0].dim() or part.dim() == 0 for part in parts):  # torch ignores empty vectors
            raise ValueError("all the input arrays must have the same number of dimensions, at least one")
        return torch.cat(parts, dim=axis)

    def stack(self, arrays: Sequence[Any], axis: int = 0) -> torch.Tensor:
        return torch.stack(self._same_dtype(arrays), dim=axis)

    def hstack(self, tup: Sequence[Any]) -> torch.Tensor:
        parts = [self.atleast_1d(part) for part in tup]
        return self.concatenate(parts, axis=0 if parts[0].dim() == 1 else 1)

    def vstack(self, tup: Sequence[Any]) -> torch.Tensor:
        return self.concatenate([self.atleast_2d(part) for part in tup])

    def _same_dtype(self, arrays: Sequence[Any]) -> list[torch.Tensor]:
        parts = [tensor_from(part, self.device) for part in arrays]
        if not parts:
            raise ValueError("need at least one array to concatenate")
        dtype = result_dtype(*parts)
        return [part.to(dtype) for part in parts]

    def split(self, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[torch.Tensor]:
        ary = tensor_from(ary, self.device)
        if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
        return self.array_split(ary, indices_or_sections, axis)

    def array_split(self, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[torch.Tensor]:
        if not isinstance(indices_or_sections, int):
            indices_or_sections = tuple(int(i) for i in indices_or_sections)
        return list(torch.tensor_split(tensor_from(ary, self.device), indices_or_sections, dim=axis))

    def atleast_1d(self, ary: Any) -> torch.Tensor:
        y: torch.Tensor = torch.atleast_1d(tensor_from(ary, self.device))
        return y

    def atleast_2d(self, ary: Any) -> torch.Tensor:
        y: torch.Tensor = torch.atleast_2d(tensor_from(ary, self.device))
        return y

    def reshape(self, a: Any, newshape: Any) -> torch.Tensor:
        return tensor_from(a, self.device).reshape(_as_shape(newshape))

    def ravel(self, a: Any) -> torch.Tensor:
        return tensor_from(a, self.device).ravel()

    def transpose(self, a: Any, axes: Sequence[int] | None = None) -> torch.Tensor:
        x = tensor_from(a, self.device)
        return x.permute(tuple(reversed(range(x.dim())) if axes is None else axes))

    def swapaxes(self, a: Any, axis1: int, axis2: int) -> torch.Tensor:
        return tensor_from(a, self.device).swapaxes(axis1, axis2)

    def rollaxis(self, a: Any, axis: int, start: int = 0) -> torch.Tensor:
        x = tensor_from(a, self.device)
        axis, start = axis % x.dim(), start + x.dim() if start < 0 else start
        return x.movedim(axis, start - 1 if axis < start else start)

    def moveaxis(self, a: Any, source: Any, destination: Any) -> torch.Tensor:
        return tensor_from(a, self.device).movedim(source, destination)

    def expand_dims(self, a: Any, axis: int) -> torch.Tensor:
        return tensor_from(a, self.device).unsqueeze(axis)

    def squeeze(self, a: Any, axis: Any = None) -> torch.Tensor:
        x = tensor_from(a, self.device)
        if axis is None:
            return x.squeeze()
        axes = axis if isinstance(axis, tuple) else (axis,)
        if any(x.shape[i] != 1 for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        return x.squeeze(axes)

    def broadcast_to(self, array: Any, shape: Any) -> torch.Tensor:
        return tensor_from(array, self.device).broadcast_to(_as_shape(shape))

    def tile(self, A: Any, reps: Any) -> torch.Tensor:
        return torch.tile(tensor_from(A, self.device), _as_shape(reps)).clone()

    def repeat(self, a: Any, repeats: Any, axis: int | None = None) -> torch.Tensor:
        counts = tensor_from(repeats, self.device)
        a = tensor_from(a, self.device)
        return torch.repeat_interleave(a, int(counts) if counts.numel() == 1 else counts, dim=axis)

    def flip(self, m: Any, axis: Any = None) -> torch.Tensor:
        x = tensor_from(m, self.device)
        return x.flip(_as_axes(axis, x.dim()))

    def roll(self, a: Any, shift: Any, axis: Any = None) -> torch.Tensor:
        return torch.roll(tensor_from(a, self.device), shift, axis)

    def meshgrid(self, *xi: Any, indexing: str = "xy") -> list[torch.Tensor]:
        return [part.clone() for part in torch.meshgrid(*self._same_dtype(xi), indexing=indexing)]


class _Reductions:
    """Functions that reduce along axes: ``axis`` None (all), a number or a tuple. Results are tensors, not numbers."""

    device: torch.device

    def sum(self, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device)
        a = a.to(_reduced_dtype("sum", a) if dtype is None else torch_dtype(dtype))
        return a.clone() if axis == () else torch.sum(a, _as_axes(axis, a.dim()), keepdim=keepdims)

    def mean(self, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device)
        a = a.to(_reduced_dtype("mean", a) if dtype is None else torch_dtype(dtype))
        return a.clone() if axis == () else torch.mean(a, _as_axes(axis, a.dim()), keepdim=keepdims)

    def prod(self, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> torch.Tensor:
        x = tensor_from(a, self.device)
        x = x.to(_reduced_dtype("prod", x) if dtype is None else torch_dtype(dtype))
        for i in sorted(_as_axes(axis, x.dim()), reverse=True):
            x = torch.prod(x, i, keepdim=keepdims)
        return x

    def var(self, a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device)
        a = a.to(_reduced_dtype("var", a))
        return torch.var(a, _as_axes(axis, a.dim()), correction=ddof, keepdim=keepdims)

    def std(self, a: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> torch.Tensor:
        return torch.sqrt(self.var(a, axis, ddof, keepdims))

    def max(self, a: Any, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device)
        if not a.numel():
            a.cpu().numpy().max(axis, keepdims=keepdims)  # raises NumPy's error, unless nothing is reduced
        return a.clone() if axis == () else torch.amax(a, _as_axes(axis, a.dim()), keepdim=keepdims)

    def min(self, a: Any, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device)
        if not a.numel():
            a.cpu().numpy().min(axis, keepdims=keepdims)
        return a.clone() if axis == () else torch.amin(a, _as_axes(axis, a.dim()), keepdim=keepdims)

    amax, amin = max, min

    def argmax(self, a: Any, axis: int | None = None) -> torch.Tensor:
        a = tensor_from(a, self.device)
        return torch.argmax(a.to(torch.uint8) if a.dtype == torch.bool else a, axis)

    def argmin(self, a: Any, axis: int | None = None) -> torch.Tensor:
        a = tensor_from(a, self.device)
        return torch.argmin(a.to(torch.uint8) if a.dtype == torch.bool else a, axis)

    def all(self, a: Any, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device) != 0
        return a if axis == () else torch.all(a, _as_axes(axis, a.dim()), keepdim=keepdims)

    def any(self, a: Any, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        a = tensor_from(a, self.device) != 0
        return a if axis == () else torch.any(a, _as_axes(axis, a.dim()), keepdim=keepdims)

    def cumsum(self, a: Any, axis: int | None = None, dtype: Any = None) -> torch.Tensor:
        a = tensor_from(a, self.device)
        a = a.to(_reduced_dtype("cumsum", a) if dtype is None else torch_dtype(dtype))
        return torch.cumsum(a.reshape(-1) if axis is None else a, 0 if axis is None else axis)


def _as_shape(shape: Any) -> tuple[int, ...]:
    is_number = not hasattr(shape, "__iter__") or getattr(shape, "ndim", 1) == 0
    return (int(shape),) if is_number else tuple(int(n) for n in shape)


def _as_axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    return tuple(axis) if isinstance(axis, (tuple, list)) else (int(axis),)


def _reduced_dtype(name: str, a: torch.Tensor) -> torch.dtype:
    """The dtype that NumPy's function gives for an array of this dtype; NumPy is asked with one element."""
    dtype = getattr(np, name)(np.ones(1, dtype=numpy_dtype(a.dtype))).dtype
    return torch.int64 if dtype == np.uint64 else torch_dtype(dtype)  # torch has no sums of uint64
