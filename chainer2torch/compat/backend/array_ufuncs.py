"""NumPy's element-by-element functions on tensors: same names, same promotion of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.array_dtypes import (
    empty_like_numpy,
    numpy_dtype,
    result_dtype,
    tensor_from,
    torch_dtype,
)
from chainer2torch.compat.variable.variables import get_item

# NumPy's name -> torch's, where it is another one. All other names mean the same once the dtypes are equal.
_UFUNC_NAMES = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "power": "pow",
    "mod": "remainder",
    "divide": "true_divide",
    "rint": "round",
    "fabs": "abs",
    "absolute": "abs",
    "invert": "bitwise_not",
    "arctan2": "atan2",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
}
_UFUNCS = frozenset(_UFUNC_NAMES) | frozenset(
    """
    abs add arccos arccosh arcsin arcsinh arctan arctanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil copysign
    cos cosh deg2rad exp exp2 expm1 floor floor_divide fmax fmin fmod hypot isfinite isinf isnan log log10 log1p log2
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum multiply negative rad2deg
    reciprocal remainder sign signbit sin sinh sqrt square subtract tan tanh true_divide trunc
    """.split()
)


class _Ufunc:
    """One function of NumPy, for tensors on one device. ``at`` adds (multiplies, ...) in place."""

    def __init__(self, name: str, device: torch.device):
        self.name, self.device = name, device

    def __call__(self, *args: Any, out: Any = None, dtype: Any = None) -> Any:
        """The function of tensors, arrays, lists and numbers; numbers alone give a number, as in NumPy.

        ``out`` is a tensor that gets the values, cast to its dtype, and is returned; in ``dtype`` it is computed.
        Raises TypeError where NumPy does not cast so, ValueError where the values have another shape than ``out``.
        """
        options = {} if dtype is None else {"dtype": numpy_dtype(dtype)}
        if out is None:
            return self._computed(args, options)
        (target,) = out if isinstance(out, tuple) else (out,)
        if not isinstance(target, torch.Tensor):
            raise TypeError(f"out of {self.name} is a {type(target).__name__}, not a tensor")
        shape = torch.broadcast_shapes(*(np.shape(a) for a in args), target.shape)
        if shape != target.shape:
            raise ValueError(f"out of {self.name} has the shape {tuple(target.shape)}, the values have {tuple(shape)}")
        values = torch.as_tensor(self._computed(args, options))
        if not np.can_cast(numpy_dtype(values.dtype), numpy_dtype(target.dtype), "same_kind"):
            raise TypeError(f"{self.name} gives {values.dtype}, which is not cast to {target.dtype} in place")
        return target.copy_(values)

    def _computed(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        numpy_function = getattr(np, self.name)
        if not any(isinstance(a, (torch.Tensor, np.ndarray, list, tuple)) for a in args):
            return numpy_function(*args, **options)
        args = tuple(a if isinstance(a, (bool, int, float)) else tensor_from(a, self.device) for a in args)
        # NumPy itself says which dtype the result has: it is asked with arrays that have no elements.
        out = torch_dtype(numpy_function(*map(empty_like_numpy, args), **options).dtype)
        if self.name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
            common = None
        else:
            common = result_dtype(*args) if out == torch.bool else out
        tensors = [torch.as_tensor(a, device=self.device, dtype=common) for a in args]
        if self.name == "power" and not out.is_floating_point and tensors[0].numel() and (tensors[1] < 0).any():
            raise ValueError("Integers to negative integer powers are not allowed.")
        if out == torch.bool and self.name in ("abs", "absolute", "ceil", "floor", "trunc"):
            return tensors[0].clone()
        if self.name == "sign" and out.is_floating_point:
            return torch.where(torch.isnan(tensors[0]), tensors[0], torch.sign(tensors[0]))
        return getattr(torch, _UFUNC_NAMES.get(self.name, self.name))(*tensors).to(out)

    def at(self, a: torch.Tensor, indices: Any, b: Any) -> None:
        """``numpy.add.at``: ``a[indices] += b``, repeated positions several times.

        Raises:
            AttributeError: another function than ``add``.
        """
        if self.name != "add":
            raise AttributeError(f"{self.name}.at has no counterpart for tensors; only add.at has")
        add_at(a, indices, b)


def add_at(a: Any, indices: Any, b: Any) -> None:
    """Adds ``b`` to ``a[indices]`` in place; a position that occurs several times gets several summands.

    Args:
        a: a tensor, or an array of NumPy's.
        indices: indices with NumPy's meaning, see :func:`get_item`.
        b: a tensor, array or number that broadcasts to the shape of ``a[indices]``.
    Raises:
        TypeError: floating numbers added to integers.
    Source: numpy.add.at, cupyx.scatter_add.
    """
    if not isinstance(a, torch.Tensor):
        np.add.at(a, indices, b)
        return
    positions = get_item(torch.arange(a.numel(), device=a.device).reshape(a.shape), indices)
    b = tensor_from(b, a.device)
    if not torch.can_cast(b.dtype, a.dtype):
        raise TypeError(f"{b.dtype} cannot be added to {a.dtype} in place")
    added = b.to(a.dtype).broadcast_to(positions.shape)
    a.copy_(a.reshape(-1).index_add(0, positions.reshape(-1), added.reshape(-1)).reshape(a.shape))
