"""``xp``: NumPy's functions with NumPy's meaning on torch tensors, on the device where the data lies."""

from __future__ import annotations

import builtins
import functools
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.array_dtypes import result_dtype, tensor_from, torch_dtype
from chainer2torch.compat.backend.array_parts import _Creation, _Reductions, _Shapes
from chainer2torch.compat.backend.array_ufuncs import _UFUNCS, _Ufunc, add_at
from chainer2torch.compat.backend.devices import to_cpu

# Functions that few programs use: NumPy computes them, and the result goes back to the device.
_ON_HOST = frozenset(
    """
    allclose append apply_along_axis argpartition argwhere array_equal asfortranarray average bincount
    broadcast_arrays column_stack count_nonzero cov cross cumprod diag diagflat diff digitize dstack flatnonzero
    fliplr flipud histogram hsplit in1d indices interp isclose isin kron lexsort logspace median modf nan_to_num
    nanargmax nanargmin nanmax nanmean nanmin nanstd nansum nanvar pad partition percentile ptp ravel_multi_index
    rot90 searchsorted sinc size take trace tri tril tril_indices triu triu_indices union1d unique unravel_index
    vander vsplit
    """.split()
)
_RANDOM = frozenset(
    """
    beta binomial chisquare choice dirichlet exponential gamma geometric gumbel laplace logistic lognormal multinomial
    multivariate_normal negative_binomial normal pareto permutation poisson rand randint randn random random_integers
    random_sample ranf rayleigh sample seed standard_cauchy standard_exponential standard_gamma standard_normal
    standard_t triangular uniform vonmises wald weibull
    """.split()
)


class ArrayModule(_Creation, _Shapes, _Reductions):
    """What ``xp`` is after the migration: NumPy's names, tensors in and out, everything on one device.

    dtypes, defaults (``zeros`` gives float64, ``arange`` int64), promotion, ``axis`` and ``keepdims`` are NumPy's.
    Arguments may be tensors, NumPy arrays, numbers and lists of those. Whole reductions (``axis=None``) give tensors
    without axes. ``random`` draws from NumPy's global generator, so that ``numpy.random.seed`` holds on every device.
    A few rare functions and ``linalg`` are computed by NumPy: on a GPU the values travel to the host and back.

    Raises:
        AttributeError: a name that is not supported.
    Source: numpy, and cupy as far as it goes beyond (``scatter_add``, ``dtype`` of random functions).
    """

    ndarray = torch.Tensor
    newaxis, pi, e, inf, nan = None, np.pi, np.e, np.inf, np.nan
    float16, float32, float64, bool_ = np.float16, np.float32, np.float64, np.bool_
    int8, int16, int32, int64, uint8 = np.int8, np.int16, np.int32, np.int64, np.uint8
    integer, floating, number, generic = np.integer, np.floating, np.number, np.generic
    finfo, iinfo, dtype = np.finfo, np.iinfo, np.dtype
    issubdtype, isscalar = staticmethod(np.issubdtype), staticmethod(np.isscalar)
    shape, ndim = staticmethod(np.shape), staticmethod(np.ndim)

    def __init__(self, device: Any):
        self.device = torch.device(device)
        self.random = _RandomNumbers(self.device)
        self.linalg = _LinearAlgebra(self.device)

    def __eq__(self, other: object) -> bool:
        """``get_array_module(x) == np``: NumPy on the CPU, CuPy on a GPU."""
        if isinstance(other, ArrayModule):
            return self.device.type == other.device.type
        return getattr(other, "__name__", "") == {"cpu": "numpy", "cuda": "cupy"}.get(self.device.type)

    def __hash__(self) -> int:
        return hash(self.device.type)

    def __repr__(self) -> str:
        return f"<NumPy's functions for tensors on {self.device}>"

    def __getattr__(self, name: str) -> Any:
        if name in _UFUNCS:
            return _Ufunc(name, self.device)
        if name in ("bool", "int", "float"):  # Python's own under NumPy's name, until 1.24
            return getattr(builtins, name)
        if name in _ON_HOST:
            return functools.partial(_by_numpy, getattr(np, name), self.device)
        raise AttributeError(f"{name} of NumPy has no counterpart for tensors in this module; write it with torch")

    def clip(self, a: Any, a_min: Any = None, a_max: Any = None) -> torch.Tensor:
        a, bounds = tensor_from(a, self.device), [a_min, a_max]
        bounds = [b if b is None or isinstance(b, (int, float)) else tensor_from(b, self.device) for b in bounds]
        dtype = result_dtype(a, *[b for b in bounds if b is not None])
        low, high = (None if b is None else torch.as_tensor(b, dtype=dtype, device=self.device) for b in bounds)
        return torch.clamp(a.to(dtype), low, high)

    def where(self, condition: Any, x: Any = None, y: Any = None) -> Any:
        condition = tensor_from(condition, self.device) != 0
        if x is None and y is None:
            return torch.nonzero(condition, as_tuple=True)
        x, y = (v if isinstance(v, (int, float)) else tensor_from(v, self.device) for v in (x, y))
        dtype = result_dtype(x, y)
        x, y = (torch.as_tensor(v, dtype=dtype, device=self.device) for v in (x, y))
        return torch.where(condition, x, y)

    def nonzero(self, a: Any) -> tuple[torch.Tensor, ...]:
        return torch.nonzero(tensor_from(a, self.device), as_tuple=True)

    def sort(self, a: Any, axis: int | None = -1) -> torch.Tensor:
        a = tensor_from(a, self.device)
        return torch.sort(a.reshape(-1) if axis is None else a, dim=-1 if axis is None else axis).values

    def argsort(self, a: Any, axis: int | None = -1) -> torch.Tensor:
        a = tensor_from(a, self.device)
        return torch.argsort(a.reshape(-1) if axis is None else a, dim=-1 if axis is None else axis, stable=True)

    def dot(self, a: Any, b: Any) -> torch.Tensor:
        return array_dot(tensor_from(a, self.device), tensor_from(b, self.device))

    def matmul(self, x1: Any, x2: Any) -> torch.Tensor:
        return torch.matmul(*self._same_dtype([x1, x2]))

    def inner(self, a: Any, b: Any) -> torch.Tensor:
        return torch.inner(*self._same_dtype([a, b]))

    def outer(self, a: Any, b: Any) -> torch.Tensor:
        a, b = self._same_dtype([a, b])
        return torch.outer(a.reshape(-1), b.reshape(-1))

    def tensordot(self, a: Any, b: Any, axes: Any = 2) -> torch.Tensor:
        if not isinstance(axes, int):
            axes = [[axis] if isinstance(axis, int) else list(axis) for axis in axes]
        a, b = self._same_dtype([a, b])
        y: torch.Tensor = torch.tensordot(a, b, dims=axes)
        return y

    def einsum(self, subscripts: str, *operands: Any) -> torch.Tensor:
        return torch.einsum(subscripts, *self._same_dtype(operands))

    def copyto(self, dst: torch.Tensor, src: Any) -> None:
        dst.copy_(tensor_from(src, self.device))

    def copy(self, a: Any) -> torch.Tensor:
        return self.array(a)

    def scatter_add(self, a: torch.Tensor, slices: Any, value: Any) -> None:
        add_at(a, slices, value)

    def asnumpy(self, a: Any) -> Any:
        return to_cpu(a)

    def get_array_module(self, *args: Any) -> Any:
        return array_module(*args)


class _RandomNumbers:
    """``xp.random``: NumPy's global generator, with tensors for arrays."""

    def __init__(self, device: torch.device):
        self.device = device

    def __getattr__(self, name: str) -> Any:
        if name not in _RANDOM:
            raise AttributeError(f"random.{name} has no counterpart for tensors in this module")
        return functools.partial(self._draw, getattr(np.random, name))

    def _draw(self, function: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        drawn = _by_numpy(function, self.device, *args, **kwargs)
        return drawn if dtype is None else tensor_from(drawn, self.device).to(torch_dtype(dtype))

    def shuffle(self, x: Any) -> None:
        """Reorders the first axis in place."""
        if not isinstance(x, torch.Tensor):
            np.random.shuffle(x)
            return
        order = np.arange(len(x))
        np.random.shuffle(order)
        x.copy_(x[torch.from_numpy(order).to(x.device)])


class _LinearAlgebra:
    """``xp.linalg``, computed by NumPy."""

    LinAlgError = np.linalg.LinAlgError

    def __init__(self, device: torch.device):
        self.device = device

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return functools.partial(_by_numpy, getattr(np.linalg, name), self.device)


def _by_numpy(function: Any, device: torch.device, *args: Any, **kwargs: Any) -> Any:
    kwargs = {key: to_cpu(value) for key, value in kwargs.items()}
    return _to_tensors(function(*[to_cpu(a) for a in args], **kwargs), device)


def _to_tensors(x: Any, device: torch.device) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return tensor_from(x, device)
    if isinstance(x, (list, tuple)):
        items = [_to_tensors(item, device) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def array_dot(a: torch.Tensor, b: Any) -> torch.Tensor:
    """``a.dot(b)``: the product of matrices and vectors; of more axes the last of ``a`` with the last but one of ``b``.

    A number multiplies. Integers and numbers of float32 together give float64.

    Source: numpy.dot.
    """
    other = tensor_from(b, a.device)
    dtype = result_dtype(a, other)
    a, other = a.to(dtype), other.to(dtype)
    if a.dim() == 0 or other.dim() == 0:
        return a * other
    y: torch.Tensor = torch.tensordot(a, other, dims=([-1], [max(other.dim() - 2, 0)]))
    return y


def array_module(*args: Any) -> Any:
    """``xp`` for these values: :class:`ArrayModule` on the device of the first tensor, module or device among them.

    Args:
        args: tensors, modules, ``torch.device`` objects or names of devices, or one tuple of them; other values do
            not count.
    Returns:
        An ArrayModule, or NumPy itself if there is no tensor, module or device: plain arrays stay plain arrays.
    Source: chainer.backend.get_array_module, chainer.Link.xp.
    """
    # a tuple of inputs, not unpacked: Chainer finds no array in it and gives NumPy, which works on its arrays
    for arg in args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args:
        if isinstance(arg, torch.nn.Module):
            tensors = [*arg.parameters(), *arg.buffers()]
            return _array_module_of(tensors[0].device if tensors else torch.device("cpu"))
        if isinstance(arg, (torch.Tensor, torch.device, str)):
            return _array_module_of(arg.device if isinstance(arg, torch.Tensor) else torch.device(arg))
    return np


@functools.cache
def _array_module_of(device: torch.device) -> ArrayModule:
    return ArrayModule(device)


def is_same_array(a: Any, b: Any) -> bool:
    """Whether two arrays are the same array: they lie at the same place, with the same shape, strides and dtype.

    Args:
        a, b: tensors or NumPy arrays of any shape and dtype; other values are compared by ``is``.
    Source: ``a is b`` of the arrays of chainer.Variable, which is one object for each Variable.
    """
    if a is b:
        return True
    tensors = [
        torch.from_numpy(x) if isinstance(x, np.ndarray) and x.dtype != object and min(x.strides, default=0) >= 0 else x
        for x in (a, b)
    ]
    if not all(isinstance(x, torch.Tensor) for x in tensors) or not any(isinstance(x, torch.Tensor) for x in (a, b)):
        return False
    x, y = tensors
    return (
        x.data_ptr() == y.data_ptr()
        and x.device == y.device
        and x.dtype == y.dtype
        and x.shape == y.shape
        and x.stride() == y.stride()
        and (x.numel() > 0 or x.untyped_storage()._cdata == y.untyped_storage()._cdata)
    )


def on_cpu(xp: Any) -> bool:
    """Whether ``xp`` works on the CPU: what ``xp is numpy`` asks in Chainer.

    Args:
        xp: NumPy or an :class:`ArrayModule`.
    """
    return xp is np or isinstance(xp, ArrayModule) and xp.device.type == "cpu"
