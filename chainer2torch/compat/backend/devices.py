"""Chainer's device specifiers as ``torch.device``, and arrays moving between NumPy and devices."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch


def get_device(device_spec: Any) -> torch.device:
    """The ``torch.device`` of a Chainer device specifier.

    Args:
        device_spec: a GPU number (negative: CPU), ``'@numpy'``, ``'@intel64'``, ``'@cupy:0'``, ``'native'``,
            ``'native:0'``, ``'cuda:0'``, ``'cpu'``, ``'-1'``, ``'0'``, a ``(backend, number)`` tuple or a
            ``torch.device``.
    Raises:
        ValueError: the specifier is not known.
    Source: chainer.get_device.
    """
    if isinstance(device_spec, torch.device):
        return device_spec
    if isinstance(device_spec, (int, np.integer)) and not isinstance(device_spec, bool):
        return torch.device("cpu") if device_spec < 0 else torch.device("cuda", int(device_spec))
    if isinstance(device_spec, tuple) and len(device_spec) == 2:
        device_spec = f"{device_spec[0]}:{device_spec[1]}"
    if isinstance(device_spec, str):
        if device_spec.removeprefix("-").isdigit():  # an argument of the command line
            return get_device(int(device_spec))
        name, _, number = device_spec.partition(":")
        if not number or number.isdigit():
            if name in ("@numpy", "@intel64", "native", "cpu"):
                return torch.device("cpu")
            if name in ("@cupy", "cuda", "gpu"):
                return torch.device("cuda", int(number or 0))
    raise ValueError(f"Invalid device specifier: {device_spec!r}")


def device_name(device: Any) -> str:
    """Chainer's text for a device: ``'@numpy'``, ``'@cupy:0'``; what is no ``torch.device`` as ``str`` writes it.

    Source: chainer.backend.Device.name (of NumPy's and CuPy's devices; ChainerX's and iDeep's have none here).
    """
    if not isinstance(device, torch.device):
        return str(device)
    if device.type == "cpu":
        return "@numpy"
    number = torch.cuda.current_device() if device.index is None else device.index
    return f"@cupy:{number}"


def is_device(device: Any, kind: str) -> bool:
    """Whether ``device`` is a ``torch.device`` of a type (``'cpu'``, ``'cuda'``).

    Source: ``isinstance(device, chainer.backend.CpuDevice)``, and GpuDevice.
    """
    return isinstance(device, torch.device) and device.type == kind


def use_device(device: Any) -> torch.device:
    """Makes ``device`` the current CUDA device (nothing happens for the CPU) and returns it.

    Source: chainer.backend.Device.use.
    """
    used = get_device(device)
    if used.type == "cuda" and used.index is not None:  # without a number it is the current one
        torch.cuda.set_device(used)
    return used


def using_device(device_spec: Any) -> contextlib.AbstractContextManager[Any]:
    """A context in which ``device_spec`` is the current CUDA device. Source: chainer.using_device."""
    device = get_device(device_spec)
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext(device)


def find_device(*args: Any) -> torch.device:
    """The device of the first tensor, module or GPU number among the arguments; the CPU when there is none.

    Source: chainer.backend.get_device_from_array, chainer.backends.cuda.get_device.
    """
    for arg in args:
        if isinstance(arg, torch.nn.Module):
            arg = next(arg.parameters(), None)
        if isinstance(arg, torch.Tensor):
            return arg.device
        if isinstance(arg, (torch.device, int, np.integer)) and not isinstance(arg, bool):
            return get_device(arg)
    return torch.device("cpu")


def device_number(device: Any) -> int:
    """The number of a GPU, -1 for the CPU: what Chainer's devices have as ``id`` and give to ``int()``.

    Source: chainer.backends.cuda.Device.id, chainer.backends.cuda.DummyDeviceType.
    """
    device = torch.device(device)
    if device.type == "cpu":
        return -1
    return torch.cuda.current_device() if device.index is None else device.index


def get_device_from_id(device_id: int | None) -> torch.device:
    """The GPU of a number; the CPU for a negative number or None. Source: chainer.backends.cuda.get_device_from_id."""
    return find_device(device_id)


def check_cuda_available() -> None:
    """Raises RuntimeError when there is no GPU. Source: chainer.backends.cuda.check_cuda_available."""
    if not torch.cuda.is_available():
        raise RuntimeError("CUDA environment is not correctly set up: torch.cuda.is_available() is False")


def to_device(device: Any, x: Any) -> Any:
    """``x`` on a device: arrays become tensors there, lists, tuples and dicts are followed; other values stay.

    Args:
        device: a specifier of :func:`get_device`, or None for "leave it where it is" (NumPy arrays still become
            CPU tensors, sharing memory).
    Source: chainer.dataset.to_device.
    """
    return _send(x, None if device is None else get_device(device))


def _send(x: Any, device: torch.device | None) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        x = _as_tensor(x)
    if isinstance(x, torch.Tensor):
        # only towards a GPU: nobody would wait for a copy to the host before the host reads it
        return x if device is None else x.to(device, non_blocking=device.type != "cpu")
    if isinstance(x, (list, tuple)):
        items = [_send(item, device) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {key: _send(value, device) for key, value in x.items()}
    return x


def _as_tensor(array: Any) -> Any:
    """A CPU tensor that shares memory with the array where torch allows it; arrays of objects or text stay NumPy."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        return array
    if not array.flags.writeable or any(stride < 0 for stride in array.strides) or not array.dtype.isnative:
        array = np.array(array, dtype=array.dtype.newbyteorder("="))
    return torch.from_numpy(array)


def to_gpu(array: Any, device: Any = None) -> Any:
    """``array`` (or a list or tuple of arrays) as a tensor on a GPU, by default the current one.

    Source: chainer.backends.cuda.to_gpu.
    """
    return _send(array, torch.device("cuda") if device is None else get_device(device))


def to_cpu(array: Any) -> Any:
    """``array`` as a NumPy array; NumPy arrays and scalars stay, lists and tuples are followed.

    A CPU tensor shares its memory with the result. Source: chainer.backends.cuda.to_cpu.
    """
    if isinstance(array, torch.Tensor):
        return array.detach().cpu().numpy()
    if isinstance(array, (list, tuple)):
        return type(array)([to_cpu(item) for item in array])
    return array


class _OnGpu(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_cuda


class CudaArray(metaclass=_OnGpu):
    """``isinstance(x, CudaArray)``: a tensor on a GPU is one. Source: ``isinstance(x, chainer.cuda.ndarray)``."""
