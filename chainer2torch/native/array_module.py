"""``xp``, where a program hands its array module on: NumPy's functions on tensors of one device."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import torch
from torch import Tensor


def _on_host(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return (list if isinstance(x, list) else tuple)(map(_on_host, x))
    if isinstance(x, torch.dtype):
        return torch.empty(0, dtype=x).numpy().dtype
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else x


_WRITING = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
_TYPES = (np.generic, np.dtype, np.finfo, np.iinfo)


class ArrayModule:
    """NumPy computes, on the host, and what comes out goes to the device: NumPy's dtypes, promotion and errors hold.

    On the CPU tensors and arrays share their memory. On a GPU a function that writes into its argument raises, and
    what is a view in NumPy may be a copy. ``random`` draws from NumPy's generator. Source: numpy; cupy.
    """

    part = ""
    ndarray = torch.Tensor  # where: .ndarray
    bool, int, float = bool, int, float  # where: .bool, .int, .float

    def __init__(self, device: Any, part: str = ""):
        self.device, self.part = torch.device(device), part  # part: random, linalg

    def __getattr__(self, name: str) -> Any:
        if name in ("broadcast_to", "ravel", "reshape", "swapaxes"):  # where: views_of_modules
            return lambda a, *places, **named: getattr(self.asarray(a), name)(*places, *named.values())
        found = getattr(getattr(np, self.part) if self.part else np, name)
        if isinstance(found, types.ModuleType):  # where: random, linalg, testing
            return ArrayModule(self.device, name)
        if found is None or isinstance(found, float) or isinstance(found, type) and issubclass(found, _TYPES):
            return found
        if name.startswith("_") or not callable(found) or isinstance(found, type):
            raise AttributeError(f"numpy.{name} has no counterpart for tensors: write it with torch")
        call = functools.partial(self._call, found)
        if isinstance(found, np.ufunc) and self.device.type == "cpu":  # where: .at, .reduce
            call.at = functools.partial(self._call, found.at)  # type: ignore[attr-defined]
            call.reduce = functools.partial(self._call, found.reduce)  # type: ignore[attr-defined]
        return call

    def __eq__(self, other: object) -> Any:  # where: modules_compared
        device = torch.device("cpu") if other is np else getattr(other, "device", None)
        return self.device == device and self.part == getattr(other, "part", "")

    def _call(self, function: Any, *args: Any, **options: Any) -> Any:
        if self.device.type != "cpu" and (  # where: written_by_modules
            "out" in options or function.__name__ in _WRITING or len(args) > getattr(function, "nin", len(args))
        ):
            raise NotImplementedError(f"numpy.{function.__name__} into an array on a GPU: write it with torch")
        # CuPy's generators take a dtype, NumPy's do not
        drawn = self.part == "random" and function.__name__ != "randint"  # where: drawn_as
        dtype = options.pop("dtype", None) if drawn else None  # where: drawn_as
        y = function(*_on_host(args), **{key: _on_host(value) for key, value in options.items()})
        if dtype is not None:  # where: drawn_as
            y = np.asarray(y, _on_host(dtype))
        if options.get("out") is not None:  # where: out=
            return options["out"][0] if isinstance(options["out"], tuple) else options["out"]
        if isinstance(y, np.generic) and all(map(np.isscalar, args)):
            return y  # of numbers alone
        return self._on_device(y)

    def _on_device(self, y: Any) -> Any:
        if isinstance(y, (list, tuple)):
            return (list if isinstance(y, list) else tuple)(map(self._on_device, y))
        if not isinstance(y, (np.ndarray, np.generic)) or y.dtype.kind not in "biufc":
            return y
        if y.dtype == np.uint64:  # where: uint8, uint16, uint32, uint64, bincount
            y = y.astype(np.int64)
        if min(y.strides, default=0) < 0:  # where: flip, fliplr, flipud, rot90
            y = y.copy()
        return torch.as_tensor(np.require(y, requirements="W"), device=self.device)

    def asarray(self, a: Any, dtype: Any = None) -> Any:  # where: .asarray, views_of_modules
        return a.to(self.device) if isinstance(a, Tensor) and dtype is None else self._call(np.asarray, a, dtype)

    asnumpy = staticmethod(_on_host)  # where: .asnumpy

    def get_array_module(self, *args: Any) -> Any:
        return array_module(*args)

    def transpose(self, a: Any, axes: Any = None) -> Any:  # where: views_of_modules
        x = self.asarray(a)
        return x.permute(tuple(reversed(range(x.ndim))) if axes is None else tuple(axes))

    def expand_dims(self, a: Any, axis: Any) -> Any:  # where: views_of_modules
        return self.asarray(a).unsqueeze(axis)

    def shuffle(self, x: Any) -> None:  # where: .shuffle
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
            arg = next((t for t in (*arg.parameters(), *arg.buffers())), torch.empty(0))
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
