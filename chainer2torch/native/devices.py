"""Devices by Chainer's names, and values that move between the host and a device."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch


def get_device(spec: Any) -> torch.device:
    """The torch.device of a number, or of '@numpy', '@cupy:1', 'cuda:1'; None and negative numbers are the CPU.

    Source: chainer.get_device, chainer.backends.cuda.get_device_from_id.
    """
    if isinstance(spec, torch.device):
        return spec
    if isinstance(spec, str):  # where: device_names
        name, _, number = spec.partition(":")
        gpu = name in ("@cupy", "cuda", "gpu")
        spec = -1 if name in ("@numpy", "@intel64", "native", "cpu") else int((number or 0) if gpu else name)
    return torch.device("cuda", int(spec)) if spec is not None and spec >= 0 else torch.device("cpu")


def using_device(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """A block in which the device is the current one; nothing happens for the CPU. Source: chainer.using_device."""
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


def use_device(device: torch.device) -> None:
    """Makes the device the current one; nothing happens for the CPU. Source: chainer.backend.Device.use."""
    if device.type == "cuda" and device.index is not None:  # without a number it is the current one
        torch.cuda.set_device(device)


def device_number(device: torch.device) -> int:
    """The number of a GPU, -1 for the CPU. Source: chainer.backends.cuda.Device.id."""
    if device.type == "cpu":
        return -1
    return torch.cuda.current_device() if device.index is None else device.index


def device_name(device: torch.device) -> str:
    """Chainer's name of a device: '@numpy', '@cupy:0'. Source: chainer.backend.Device.name."""
    return "@numpy" if device.type == "cpu" else f"@cupy:{device_number(device)}"


def device_of(x: Any) -> torch.device:
    """The device of a tensor, or of the parameters and buffers of a module; the CPU for what else Chainer takes.

    Source: chainer.Link.device, chainer.Variable.device.
    """
    if isinstance(x, torch.nn.Module):
        return next((t.device for t in (*x.parameters(), *x.buffers())), torch.device("cpu"))
    if x is None or isinstance(x, (np.ndarray, np.generic, memoryview, list, tuple, dict, int, float)):
        return torch.device("cpu")
    return x if isinstance(x, torch.device) else x.device


def to_device(device: Any, x: Any) -> Any:
    """Arrays as tensors, and tensors, on a device (None: where they are); lists, tuples and dicts are followed.

    Source: chainer.dataset.to_device.
    """
    if isinstance(x, (list, tuple)):
        return type(x)([to_device(device, item) for item in x])
    if isinstance(x, dict):
        return {key: to_device(device, value) for key, value in x.items()}
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc":
        x = torch.as_tensor(x)
    if isinstance(device, int):  # where: device_numbers, !device_names
        device = torch.device("cuda", device) if device >= 0 else torch.device("cpu")
    if isinstance(device, (int, str)):  # where: device_names
        device = get_device(device)
    return x if device is None or not isinstance(x, torch.Tensor) else x.to(device)


def to_gpu(x: Any, device: Any = None) -> Any:
    """An array, a tensor, or a list or tuple of them on a GPU: the current one, or that of a number.

    Source: chainer.backends.cuda.to_gpu.
    """
    return to_device(torch.device("cuda") if device is None else device, x)


def to_cpu(x: Any) -> Any:
    """A tensor as an array of NumPy; lists and tuples are followed, other values stay.

    Source: chainer.backends.cuda.to_cpu.
    """
    if isinstance(x, (list, tuple)):
        return type(x)([to_cpu(item) for item in x])
    return x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else x


def move_to_gpu(x: Any, device: int | None = None) -> Any:
    """``x.cuda(device)`` of a module, the own ``to_gpu`` of any other object. Source: chainer.Link.to_gpu."""
    if isinstance(x, torch.nn.Module) and not hasattr(x, "to_gpu"):
        return x.cuda(device)
    return x.to_gpu() if device is None else x.to_gpu(device)


def as_tensor(x: Any, device: torch.device, dtype: Any = None) -> torch.Tensor:
    """A tensor, an array, a number, or a list of those on a device, with the dtype that NumPy gives, or this one.

    Source: ``xp.asarray`` of chainer.backend.get_array_module.
    """
    if isinstance(x, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in x):
        x = torch.stack(same_dtype(x))
    tensor = x.to(device) if isinstance(x, torch.Tensor) else torch.as_tensor(np.asarray(x), device=device)
    return tensor if dtype is None else tensor.to(torch_dtype(dtype))


def torch_dtype(dtype: Any) -> torch.dtype:
    """The torch dtype of NumPy's, of a name ('f', 'int32') or of float; one of torch stays.

    Source: ``xp.zeros(3, dtype)`` of chainer.backend.get_array_module.
    """
    return dtype if isinstance(dtype, torch.dtype) else torch.from_numpy(np.empty(0, dtype)).dtype


def floating(x: torch.Tensor) -> torch.Tensor:
    """A tensor of floats; whole numbers become float64, as in NumPy's functions (in torch's: float32).

    Source: ``xp.exp`` and others of chainer.backend.get_array_module.
    """
    return x if x.is_floating_point() else x.double()


def same_dtype(xs: Any) -> list[torch.Tensor]:
    """Tensors and arrays as tensors of one dtype, NumPy's: whole numbers and float32 give float64.

    Source: ``xp.concatenate`` and others of chainer.backend.get_array_module.
    """
    tensors = [torch.as_tensor(x) for x in xs]
    dtype = np.result_type(*[torch.empty(0, dtype=x.dtype).numpy() for x in tensors])
    return [x.to(torch.from_numpy(np.empty(0, dtype)).dtype) for x in tensors]


def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of vectors and matrices; a second one of more axes is refused, as NumPy has another product of it.

    Source: ``xp.dot`` of chainer.backend.get_array_module.
    """
    if b.ndim > 2:
        raise ValueError("a product of more than two axes: write it with torch.tensordot")
    dtype = torch.promote_types(a.dtype, b.dtype)
    return torch.matmul(a.to(dtype), b.to(dtype))
