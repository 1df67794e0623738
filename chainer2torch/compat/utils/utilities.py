"""Chainer's small utilities: arrays, shapes, keyword arguments, experimental features, information."""

from __future__ import annotations

import contextlib
import inspect
import platform
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.array_dtypes import numpy_dtype, torch_dtype


def force_array(x: Any, dtype: Any = None) -> Any:
    """A number as an array without axes; tensors and arrays stay, in ``dtype`` (of NumPy or torch) if it is given.

    Source: chainer.utils.force_array.
    """
    if np.isscalar(x):
        return np.array(x) if dtype is None else np.array(x, numpy_dtype(dtype))
    if dtype is None:
        return x
    return x.to(torch_dtype(dtype)) if isinstance(x, torch.Tensor) else x.astype(numpy_dtype(dtype), copy=False)


def force_type(dtype: Any, value: Any) -> Any:
    """A number as NumPy's scalar of ``dtype``; a tensor or array converted to it.

    Source: chainer.utils.force_type.
    """
    if np.isscalar(value):
        return numpy_dtype(dtype).type(value)
    return force_array(value, dtype)


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Sums a tensor or array over the axes along which ``shape`` would be broadcast to its shape.

    Source: chainer.utils.sum_to.
    """
    if isinstance(x, torch.Tensor):
        return x.sum_to_size(shape)
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(i + lead for i, size in enumerate(shape) if size == 1))
    return x.sum(axes, keepdims=True).reshape(x.sum(axes, keepdims=True).shape[lead:])


@contextlib.contextmanager
def tempdir(**kwargs: Any) -> Iterator[str]:
    """A directory that is removed at the end of the block; arguments of tempfile.mkdtemp, and ``ignore_errors``.

    Source: chainer.utils.tempdir.
    """
    ignore_errors = kwargs.pop("ignore_errors", False)
    path = tempfile.mkdtemp(**kwargs)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=ignore_errors)


def parse_kwargs(kwargs: dict[str, Any], *name_and_values: tuple[str, Any], **unexpected: str) -> tuple[Any, ...]:
    """Takes the named values (or their defaults) out of ``kwargs``, in which nothing else may be.

    Args:
        name_and_values: pairs of a name and its default.
        unexpected: a message for a name that is no longer an argument.
    Raises:
        ValueError: one of ``unexpected`` is there.
        TypeError: something else is left.
    Source: chainer.utils.argument.parse_kwargs.
    """
    values = tuple(kwargs.pop(name, default) for name, default in name_and_values)
    if kwargs:
        check_unexpected_kwargs(kwargs, **unexpected)
        names = ", ".join(map(repr, sorted(kwargs)))
        raise TypeError(f"{_caller()}() got unexpected keyword argument(s) {names}")
    return values


def check_unexpected_kwargs(kwargs: dict[str, Any], **unexpected: str) -> None:
    """Raises ValueError with its message when a name of ``unexpected`` is in ``kwargs``.

    Source: chainer.utils.argument.check_unexpected_kwargs.
    """
    for name, message in unexpected.items():
        if name in kwargs:
            raise ValueError(message)


def assert_kwargs_empty(kwargs: dict[str, Any]) -> None:
    """Raises TypeError unless ``kwargs`` is empty. Source: chainer.utils.argument.assert_kwargs_empty."""
    parse_kwargs(kwargs)


def _caller() -> str:
    """The name of the function that called a helper of this file."""
    names = (frame.function for frame in inspect.stack()[2:] if frame.function != "assert_kwargs_empty")
    return next(names, "function")


class _Experimental(threading.local):
    """Whether the warnings of :func:`experimental` are wanted."""

    disabled: bool = False


_experimental = _Experimental()


def experimental(api_name: str) -> None:
    """Warns (FutureWarning) that ``api_name`` may change, unless that was disabled.

    Source: chainer.utils.experimental.
    """
    if not _experimental.disabled:
        warnings.warn(
            f"{api_name} is experimental. The interface can change in the future.", FutureWarning, stacklevel=2
        )


def disable_experimental_warning(disable: bool = True) -> None:
    """Whether :func:`experimental` is silent. Source: chainer.disable_experimental_feature_warning."""
    _experimental.disabled = bool(disable)


def experimental_warning_is_disabled() -> bool:
    """Whether :func:`experimental` is silent. Source: chainer.disable_experimental_feature_warning."""
    return _experimental.disabled


def is_arrays_compatible(arrays: Sequence[Any]) -> bool:
    """Whether all values (None is ignored) are tensors or arrays of one kind of device; NumPy's are on the CPU.

    Source: chainer.is_arrays_compatible.
    """
    kinds = {
        x.device.type if isinstance(x, torch.Tensor) else "cpu" if isinstance(x, np.ndarray) else None
        for x in arrays
        if x is not None
    }
    return not kinds or (len(kinds) == 1 and None not in kinds)


def static_graph(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Decorator that changes nothing: PyTorch runs the code of every call.

    Source: chainer.static_graph (which repeats the functions of the first call).
    """
    if len(args) == 1 and not kwargs and callable(args[0]):
        decorated: Callable[..., Any] = args[0]
        return decorated
    return lambda function: function


def static_code(*dec_args: Any, **dec_kwargs: Any) -> Callable[..., Any]:
    """Decorator that changes nothing, see :func:`static_graph`. Source: chainer.static_code."""
    return static_graph(*dec_args, **dec_kwargs)


def print_runtime_info(out: Any = None) -> None:
    """Prints the versions of Python, PyTorch, NumPy, CUDA and cuDNN to ``out`` (None: the standard output).

    Source: chainer.print_runtime_info.
    """
    out = sys.stdout if out is None else out
    print(f"Platform: {platform.platform()}", file=out)
    print(f"Python: {platform.python_version()}", file=out)
    print(f"PyTorch: {torch.__version__}", file=out)
    print(f"NumPy: {np.__version__}", file=out)
    print(f"CUDA: {torch.version.cuda or 'not available'}", file=out)
    print(f"cuDNN: {torch.backends.cudnn.version() or 'not available'}", file=out)
