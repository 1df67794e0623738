"""Converters: a list of examples (NumPy, on the host) becomes a batch of tensors on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.devices import get_device, to_device


def concat_examples(batch: Sequence[Any], device: Any = None, padding: Any = None) -> Any:
    """Stacks examples into tensors.

    Examples that are tuples give a tuple of tensors, dicts a dict, anything else one tensor. Dtypes stay as NumPy has
    them (Python ints int64, floats float64, int32 labels int32).

    Args:
        batch: the examples.
        device: specifier of the target device (see ``get_device``); None leaves the tensors on the CPU.
        padding: value that fills up arrays of different shapes; one for all, or a tuple or dict with one for each
            item. None: all shapes must be equal.
    Raises:
        ValueError: the batch is empty, or shapes differ and there is no padding.
    Source: chainer.dataset.concat_examples.
    """
    if not len(batch):
        raise ValueError("batch is empty")
    target = None if device is None else get_device(device)
    first = batch[0]
    if isinstance(first, tuple):
        paddings = padding if isinstance(padding, tuple) else (padding,) * len(first)
        return tuple(_stack([example[i] for example in batch], paddings[i], target) for i in range(len(first)))
    if isinstance(first, dict):
        by_key = padding if isinstance(padding, dict) else dict.fromkeys(first, padding)
        return {key: _stack([example[key] for example in batch], by_key[key], target) for key in first}
    return _stack(batch, padding, target)


def _stack(arrays: Any, padding: Any, device: torch.device | None) -> Any:
    if isinstance(arrays[0], torch.Tensor):
        stacked = torch.stack(list(arrays)) if padding is None else _pad_tensors(arrays, padding)
        return stacked if device is None else stacked.to(device)
    if not isinstance(arrays[0], np.ndarray):
        arrays = np.asarray(arrays)
    if padding is None:
        return to_device(device, np.concatenate([np.asarray(array)[None] for array in arrays]))
    shape = np.max([array.shape for array in arrays], axis=0).astype(int)
    result = np.full((len(arrays), *shape), padding, dtype=arrays[0].dtype)
    for i, array in enumerate(arrays):
        corner: tuple[Any, ...] = (i, *(slice(n) for n in array.shape))
        result[corner] = array
    return to_device(device, result)


def _pad_tensors(tensors: Sequence[torch.Tensor], padding: Any) -> torch.Tensor:
    shape = [max(sizes) for sizes in zip(*(tensor.shape for tensor in tensors), strict=False)]
    result = tensors[0].new_full((len(tensors), *shape), padding)
    for row, tensor in zip(result, tensors, strict=False):
        row[tuple(slice(n) for n in tensor.shape)] = tensor
    return result


class Converter:
    """Base class of converters: callables that turn a batch and a device into tensors.

    Source: chainer.dataset.Converter.
    """

    def __call__(self, batch: Any, device: Any) -> Any:
        """Converts a list of examples."""
        raise NotImplementedError("Concrete class must implement __call__.")


class _FunctionConverter(Converter):
    """A function as a converter; its second argument becomes a ``torch.device``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"Can only wrap a callable. Actual: {type(function)}")
        self.base_callable = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) >= 2 and args[1] is not None:
            args = (args[0], get_device(args[1]), *args[2:])
        elif kwargs.get("device") is not None:
            kwargs["device"] = get_device(kwargs["device"])
        return self.base_callable(*args, **kwargs)


def converter() -> Callable[[Callable[..., Any]], Converter]:
    """Decorator for converter functions. Source: chainer.dataset.converter."""
    return _FunctionConverter


class ConcatWithAsyncTransfer:
    """:func:`concat_examples` through pinned memory, so that the copy to a GPU overlaps with the computation.

    Source: chainer.dataset.ConcatWithAsyncTransfer.
    """

    def __init__(self, stream: Any = None, compute_stream: Any = None) -> None:
        self.compute_stream = compute_stream

    def __call__(self, batch: Sequence[Any], device: Any = None, padding: Any = None) -> Any:
        """Stacks examples into tensors; see :func:`concat_examples`."""
        result = concat_examples(batch, None, padding)
        if device is None or get_device(device).type == "cpu":
            return result
        return to_device(device, _pinned(result))


def _pinned(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_pinned(item) for item in value)
    if isinstance(value, dict):
        return {key: _pinned(item) for key, item in value.items()}
    return value.pin_memory() if isinstance(value, torch.Tensor) else value


def _call_converter(function: Any, batch: Any, device: torch.device | None) -> Any:
    """Calls a converter as Chainer does: plain functions get a GPU number (-1: CPU), Converter objects a device."""
    if device is None or isinstance(function, Converter):
        return function(batch, device)
    if function is concat_examples:
        return function(batch, device)
    return function(batch, -1 if device.type == "cpu" else device.index or 0)
