"""``xp``, where a program hands its array module on: NumPy's functions on tensors of one device."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import torch
from torch import Tensor


def with_numpy(function: Any, *args: Any, device: Any, **options: Any) -> Any:
    """A function of NumPy on tensors: it computes on the host, and what comes out goes to the device.

    NumPy's dtypes, promotion and errors hold. On the CPU tensors and arrays share their memory; on a GPU what is a view
    in NumPy is a copy. Random numbers are those of NumPy's generator. Source: numpy; cupy.
    """
    y = function(*_on_host(args), **{key: _on_host(value) for key, value in options.items()})
    if options.get("out") is not None:  # where: out=
        return options["out"][0] if isinstance(options["out"], tuple) else options["out"]
    return y if isinstance(y, np.generic) and all(map(np.isscalar, args)) else _on_device(y, device)


def _on_host(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return (list if isinstance(x, list) else tuple)(map(_on_host, x))
    if isinstance(x, torch.dtype):  # where: dtype
        return torch.empty(0, dtype=x).numpy().dtype
    return x.detach().cpu().numpy() if isinstance(x, Tensor) else x


def _on_device(y: Any, device: Any) -> Any:
    if isinstance(y, (list, tuple)):
        return (list if isinstance(y, list) else tuple)(_on_device(item, device) for item in y)
    if not isinstance(y, (np.ndarray, np.generic)) or y.dtype.kind not in "biufc":
        return y
    if y.dtype == np.uint64:  # where: uint8, uint16, uint32, uint64, bincount
        y = y.astype(np.int64)
    if min(y.strides, default=0) < 0:  # where: flip, fliplr, flipud, rot90
        y = y.copy()
    return torch.as_tensor(np.require(y, requirements="W"), device=device)


_TYPES = (np.generic, np.dtype, np.finfo, np.iinfo)
_WRITING = ("at", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")


class ArrayModule:
    """NumPy's functions for the tensors of a device, as :func:`with_numpy`. Source: numpy; cupy."""

    ndarray = torch.Tensor  # where: ndarray_of_modules
    bool, int, float = bool, int, float  # where: .bool, .int, .float

    part = ""

    def __init__(self, device: Any, part: str = ""):
        self.device, self.part = torch.device(device), part  # part: random, linalg

    def __getattr__(self, name: str) -> Any:
        if name in ("broadcast_to", "ravel", "reshape", "swapaxes"):  # where: views_of_modules
            return lambda a, *places, **named: getattr(self.asarray(a), name)(*places, *named.values())
        found = getattr(getattr(np, self.part) if self.part else np, name)
        if isinstance(found, types.ModuleType):  # where: parts_of_modules
            return ArrayModule(self.device, name)
        if found is None or isinstance(found, float) or isinstance(found, type) and issubclass(found, _TYPES):
            return found
        if name.startswith("_") or not callable(found) or isinstance(found, type):
            raise AttributeError(f"numpy.{name} has no counterpart for tensors: write it with torch")
        call: Any = functools.partial(with_numpy, found, device=self.device)
        if self.part == "random" and name != "randint":  # where: drawn_as
            call = functools.partial(_drawn, found, device=self.device)
        if self.device.type != "cpu" and not self.part:  # where: written_by_modules
            call = functools.partial(_writing, found, device=self.device)
        if isinstance(found, np.ufunc):  # where: at_of_modules
            call.at = functools.partial(_writing, found.at, device=self.device)
        if isinstance(found, np.ufunc):  # where: reduce_of_modules
            call.reduce = functools.partial(with_numpy, found.reduce, device=self.device)
        return call

    def __eq__(self, other: object) -> Any:  # where: modules_compared
        device = torch.device("cpu") if other is np else getattr(other, "device", None)
        return self.device == device and self.part == getattr(other, "part", "")

    def asarray(self, a: Any, dtype: Any = None) -> Any:  # where: asarray_of_modules, views_of_modules
        if isinstance(a, Tensor) and dtype is None:
            return a.to(self.device)
        return with_numpy(np.asarray, a, dtype, device=self.device)

    asnumpy = staticmethod(_on_host)  # where: .asnumpy

    def get_array_module(self, *args: Any) -> Any:
        return array_module(*args)

    def transpose(self, a: Any, axes: Any = None) -> Any:  # where: views_of_modules
        x = self.asarray(a)
        return x.permute(tuple(reversed(range(x.ndim))) if axes is None else tuple(axes))

    def expand_dims(self, a: Any, axis: Any) -> Any:  # where: views_of_modules
        return self.asarray(a).unsqueeze(axis)

    def shuffle(self, x: Any) -> None:  # where: shuffled_by_modules
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


def _drawn(function: Any, *args: Any, device: Any, dtype: Any = None, **options: Any) -> Any:
    """Random numbers of a dtype, which CuPy's generators take and NumPy's do not."""
    y = function(*_on_host(args), **options)
    return _on_device(y if dtype is None else np.asarray(y, _on_host(dtype)), device)


def _writing(function: Any, *args: Any, device: Any, **options: Any) -> Any:
    """As with_numpy; what NumPy writes into is a copy on the host, which goes back to the GPU."""
    places = [0] if function.__name__ in _WRITING else range(getattr(function, "nin", len(args)), len(args))
    out = options.get("out")
    targets = [args[i] for i in places] if out is None else list(out) if isinstance(out, tuple) else [out]
    if not any(isinstance(target, Tensor) for target in targets):
        return with_numpy(function, *args, device=device, **options)
    hosts, named = list(_on_host(args)), {key: _on_host(value) for key, value in options.items()}
    function(*hosts, **named)
    written = [hosts[i] for i in places] if out is None else named["out"] if isinstance(out, tuple) else [named["out"]]
    for target, values in zip(targets, written):
        if isinstance(target, Tensor):
            target.detach().copy_(torch.from_numpy(values))
    if function.__name__ in _WRITING:
        return None
    return targets[0] if len(targets) == 1 else tuple(targets)


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
