"""NumPy's dtypes and promotion rules for torch tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.devices import to_device


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of a NumPy dtype, of a name (``'f'``, ``'int32'``), of ``float`` etc.; torch dtypes stay.

    Raises:
        TypeError: torch has no such dtype.
    Source: numpy.dtype.
    """
    if isinstance(dtype, torch.dtype):
        return dtype
    return torch.from_numpy(np.empty(0, dtype=numpy_dtype(dtype))).dtype


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype of a torch dtype; everything that NumPy takes for a dtype is taken, too.

    Raises:
        TypeError: NumPy has no such dtype (``torch.bfloat16``).
    Source: numpy.dtype.
    """
    if isinstance(dtype, torch.dtype):
        return torch.empty(0, dtype=dtype).numpy().dtype
    return np.dtype(dtype)  # type: ignore[no-any-return]


def astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    """``x.astype(dtype)`` of an array on the device side (a tensor); NumPy arrays are converted by NumPy.

    Args:
        x: a tensor or array.
        dtype: a dtype of NumPy or torch, or its name.
        copy: whether the result has memory of its own even if the dtype is the same.
    Source: numpy.ndarray.astype.
    """
    if isinstance(x, torch.Tensor):
        return x.to(torch_dtype(dtype), copy=copy)
    return x.astype(numpy_dtype(dtype) if isinstance(dtype, torch.dtype) else dtype, copy=copy)


def tensor_from(x: Any, device: torch.device) -> torch.Tensor:
    """``x`` as a tensor on ``device``, with the dtype that ``numpy.asarray`` gives.

    A tensor or array that is there already shares its memory with the result.

    Args:
        x: a tensor, an array, a number, or a (nested) list or tuple of those.
        device: where the result lives.
    Raises:
        TypeError: not a numeric array.
        ValueError, RuntimeError: a list of parts of different shapes.
    Source: numpy.asarray.
    """
    if isinstance(x, (list, tuple)) and _holds_tensor(x):
        parts = [tensor_from(part, device) for part in x]
        dtype = torch_dtype(np.result_type(*[numpy_dtype(part.dtype) for part in parts]))
        return torch.stack([part.to(dtype) for part in parts])
    if not isinstance(x, torch.Tensor):
        x = to_device(None, np.asarray(x))
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"an array of {x.dtype} cannot become a tensor")
    return x.to(device)


def _holds_tensor(items: Any) -> bool:
    return any(isinstance(i, torch.Tensor) or isinstance(i, (list, tuple)) and _holds_tensor(i) for i in items)


def empty_like_numpy(x: Any) -> Any:
    """An array without elements of the dtype of ``x``, or the Python number itself: what NumPy promotes alike."""
    if isinstance(x, torch.Tensor):
        return np.empty(0, dtype=numpy_dtype(x.dtype))
    return x


def result_dtype(*xs: Any) -> torch.dtype:
    """The dtype of NumPy's arithmetic on tensors and Python numbers: int64 and float32 give float64.

    Source: numpy.result_type.
    """
    return torch_dtype(np.result_type(*[empty_like_numpy(x) for x in xs]))
