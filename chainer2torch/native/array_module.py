"""``xp``, where a program hands its array module on: NumPy's functions on tensors of one device."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor


def _each(change: Callable[[Any], Any], x: Any) -> Any:
    if not isinstance(x, (list, tuple)):
        return change(x)
    return (list if isinstance(x, list) else tuple)(_each(change, item) for item in x)


def _on_host(x: Any) -> Any:
    if isinstance(x, torch.dtype):
        return torch.empty(0, dtype=x).numpy().dtype
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else x


_WRITING = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


class ArrayModule:
    """NumPy computes, on the host, and what comes out goes to the device: NumPy's dtypes, promotion and errors hold.

    On the CPU tensors and arrays share their memory. On a GPU a function that writes into its argument raises, and
    what is a view in NumPy may be a copy. ``random`` draws from NumPy's generator. Source: numpy; cupy.
    """

    ndarray = torch.Tensor  # where: .ndarray
    bool, int, float = bool, int, float  # where: .bool, .int, .float

    def __init__(self, device: Any, part: str = ""):
        self.device, self.part = torch.device(device), part  # part: random, linalg

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("broadcast_to", "ravel", "reshape", "swapaxes"):  # where: broadcast_to, ravel, reshape, swapaxes
            return lambda a, *places: getattr(self.asarray(a), name)(*places)
        found = getattr(getattr(np, self.part) if self.part else np, name)
        if isinstance(found, types.ModuleType):  # where: random, linalg, testing
            return ArrayModule(self.device, name)
        plain = isinstance(found, type) and issubclass(found, (np.generic, np.dtype, np.finfo, np.iinfo))
        if plain or found is None or isinstance(found, float):
            return found
        if not callable(found) or isinstance(found, type):
            raise AttributeError(f"numpy.{name} has no counterpart for tensors: write it with torch")
        call = functools.partial(self._call, found)
        if isinstance(found, np.ufunc) and self.device.type == "cpu":  # where: .at
            call.at = functools.partial(self._call, found.at)  # type: ignore[attr-defined]
        return call

    def __eq__(self, other: object) -> Any:  # where: modules_compared
        device = torch.device("cpu") if other is np else getattr(other, "device", None)
        return self.device == device and self.part == getattr(other, "part", "")

    def _call(self, function: Any, *args: Any, **options: Any) -> Any:
        if self.device.type != "cpu":  # where: out=, copyto, fill_diagonal, place, put, put_along_axis, putmask
            if "out" in options or function.__name__ in _WRITING:
                raise NotImplementedError(f"numpy.{function.__name__} into an array on a GPU: write it with torch")
        # CuPy's generators take a dtype, NumPy's do not
        drawn = self.part == "random" and function.__name__ != "randint"  # where: random
        dtype = options.pop("dtype", None) if drawn else None  # where: random
        y = function(*_each(_on_host, args), **{key: _each(_on_host, value) for key, value in options.items()})
        if dtype is not None:  # where: random
            y = np.asarray(y, _on_host(dtype))
        if options.get("out") is not None:  # where: out=
            return options["out"][0] if isinstance(options["out"], tuple) else options["out"]
        if isinstance(y, np.generic) and all(np.isscalar(arg) for arg in args):
            return y  # of numbers alone
        return _each(self._tensor, y)

    def _tensor(self, y: Any) -> Any:
        if not isinstance(y, (np.ndarray, np.generic)) or y.dtype.kind not in "biufc":
            return y
        y = np.asarray(y, np.int64 if y.dtype == np.uint64 else None)
        shared = y.flags.writeable and min(y.strides, default=0) >= 0
        return torch.as_tensor(y if shared else y.copy(), device=self.device)

    def asarray(self, a: Any, dtype: Any = None) -> Any:
        if isinstance(a, Tensor) and dtype is None:
            return a.to(self.device)
        return self._call(np.asarray, a, dtype=dtype)

    def asnumpy(self, a: Any) -> Any:
        return _on_host(a)

    def get_array_module(self, *args: Any) -> Any:
        return array_module(*args)

    def transpose(self, a: Any, axes: Any = None) -> Any:
        x = self.asarray(a)
        return x.permute(tuple(reversed(range(x.ndim))) if axes is None else tuple(axes))

    def expand_dims(self, a: Any, axis: Any) -> Any:
        return self.asarray(a).unsqueeze(axis)

    def shuffle(self, x: Any) -> None:
        """Reorders the first axis in place. Source: numpy.random.shuffle."""
        if isinstance(x, Tensor):
            x.copy_(x[torch.from_numpy(np.random.permutation(len(x))).to(x.device)])
        else:
            np.random.shuffle(x)

    def scatter_add(self, a: Tensor, slices: Any, value: Any) -> None:
        """Adds in place, several times where a position is named several times. Source: cupyx.scatter_add."""
        positions = torch.arange(a.numel(), device=a.device).reshape(a.shape)[slices]
        added = torch.as_tensor(value, device=a.device).to(a.dtype).expand(positions.shape)
        a.copy_(a.reshape(-1).index_add(0, positions.reshape(-1), added.reshape(-1)).reshape(a.shape))


def array_module(*args: Any) -> Any:
    """``xp`` of the first tensor, module, device or name of a device among the arguments; NumPy if there is none.

    Source: chainer.backend.get_array_module, chainer.Link.xp.
    """
    for arg in args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args:
        if isinstance(arg, torch.nn.Module):
            return ArrayModule(next((t.device for t in (*arg.parameters(), *arg.buffers())), "cpu"))
        if isinstance(arg, (Tensor, torch.device, str)):
            return ArrayModule(arg.device if isinstance(arg, Tensor) else arg)
    return np


def on_cpu(xp: Any) -> bool:
    """Whether ``xp`` is NumPy, or an array module on the CPU: what ``xp is numpy`` asks in Chainer."""
    return bool(xp == np)


def xp_of(x: Any) -> Any:
    """``x.xp`` of a tensor, module or device as :func:`array_module`; of any other object its own.

    Source: chainer.Variable.xp, chainer.Link.xp.
    """
    return array_module(x) if isinstance(x, (Tensor, torch.nn.Module, torch.device)) else x.xp
