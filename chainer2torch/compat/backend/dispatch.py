"""Chainer's methods on values of which the source does not say whether they are tensors, modules or something else."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import torch
from chainer2torch.compat.backend.array_dtypes import numpy_dtype, result_dtype
from chainer2torch.compat.backend.array_module import array_module
from chainer2torch.compat.backend.devices import get_device
from chainer2torch.compat.links.chains import add_link
from chainer2torch.compat.links.link_tree import (
    addgrads,
    children,
    copy_link,
    copyparams,
    count_params,
    links,
    namedlinks,
    namedparams,
    params,
    set_update_enabled,
    zerograds,
)
from chainer2torch.compat.links.own_methods import clear_gradients, own_method
from chainer2torch.compat.variable.parameters import parameter_is_initialized
from chainer2torch.compat.variable.variables import move_variable, set_array, unchain, unchain_backward


def array_of(x: Any) -> Any:
    """The array of a Variable (``x.array``): a tensor without its graph; of any other object its own ``array``.

    That of a parameter that has no shape yet is None.
    """
    if isinstance(x, torch.Tensor):
        return x.detach() if parameter_is_initialized(x) else None
    return x.array


def data_of(x: Any) -> Any:
    """``x.data``, which is None of a parameter that has no shape yet."""
    return None if isinstance(x, torch.Tensor) and not parameter_is_initialized(x) else x.data


def to_host(x: Any) -> Any:
    """A tensor as an array of NumPy, for text and for other libraries; anything else as it is."""
    return x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else x


def shown(x: Any) -> Any:
    """A value as it is written as text: tensors as arrays or numbers of NumPy, also in lists, tuples and dictionaries.

    So are those in the fields of an object of a ``@dataclass`` and among the arguments of an error, of which this is a
    copy. A number looks like an array of no axes where it stands for itself, and unlike one in a list.
    """
    if isinstance(x, dict):
        result = x.copy()
        for key, value in x.items():
            result[key] = shown(value)
        return result
    if type(x) in (list, tuple, torch.Size):
        return list(map(shown, x)) if type(x) is list else tuple(map(shown, x))
    if isinstance(x, tuple) and hasattr(x, "_replace"):  # of `namedtuple`
        return type(x)(*map(shown, x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):  # where: dataclass
        copied = copy.copy(x)
        for field in dataclasses.fields(x):
            object.__setattr__(copied, field.name, shown(getattr(x, field.name)))
        return copied
    if isinstance(x, Exception) and not hasattr(type(x).__str__, "__code__"):  # where: own_errors
        written = type(x).__new__(type(x), *shown(x.args))
        written.__dict__.update(x.__dict__)
        return written
    return to_host(x)[()] if isinstance(x, torch.Tensor) else x


def own_number(x: Any) -> Any:
    """An element of a tensor as one of its own, which stays when the tensor changes; anything else as it is.

    Source: numpy.ndarray.__getitem__.
    """
    return x.clone() if isinstance(x, torch.Tensor) and x.ndim == 0 else x


def from_host(x: Any) -> Any:
    """An array of NumPy as a tensor on the same memory (a copy of one that runs backwards); anything else as it is.

    A list or tuple with arrays in it becomes a list or tuple with tensors.
    """
    if isinstance(x, (list, tuple)) and any(isinstance(item, np.ndarray) for item in x):
        return type(x)(from_host(item) for item in x) if type(x) in (list, tuple) else x
    if not isinstance(x, np.ndarray):
        return x
    return torch.as_tensor(x.copy() if any(step < 0 for step in x.strides) else x)


def beside(x: Any, other: Any) -> Any:
    """An array of NumPy as a tensor of the dtype and on the device of the one that it meets; else it stays.

    For operators whose other side is a Variable on some ways of a program, and an array or a number on others.
    """
    return from_host(x).to(other) if isinstance(other, torch.Tensor) and isinstance(x, np.ndarray) else x


def promoted(x: Any, other: Any) -> Any:
    """A tensor in the dtype in which NumPy computes beside another: of whole numbers and float32 that is float64.

    Beside 0.0 whole numbers become float64, and others stay. Source: operators of numpy.ndarray.
    """
    meets = isinstance(other, (float, torch.Tensor))
    return x.to(result_dtype(x, other)) if meets and isinstance(x, torch.Tensor) else x


def xp_of(x: Any) -> Any:
    """The array module of a tensor, module or device (``x.xp``); of any other object its own ``xp``."""
    return array_module(x) if isinstance(x, (torch.Tensor, torch.nn.Module, torch.device)) else x.xp


def dtype_of(x: Any) -> Any:
    """The dtype of a tensor as a NumPy dtype, which equals ``numpy.float32`` as before; of other objects their own."""
    return numpy_dtype(x.dtype) if isinstance(x.dtype, torch.dtype) else x.dtype


def size_of(x: Any) -> Any:
    """The number of elements of a tensor (``x.size`` of an array); of any other object its own ``size``."""
    return x.numel() if isinstance(x, torch.Tensor) else x.size


def transposed(x: Any, *axes: Any) -> Any:
    """``x.transpose(*axes)`` of an array or a tensor, all axes in reverse without any. Source: numpy.ndarray."""
    if not isinstance(x, torch.Tensor):
        return x.transpose(*axes)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return x.permute(*(order or range(x.dim())[::-1]))


def numpy_methods(x: Any) -> Any:
    """``x`` with NumPy's meaning of the methods that tensors have, too, but differently: ``numpy_methods(x).std()``.

    Those are ``max`` and ``min`` along an axis, ``mean`` of whole numbers, ``nonzero``, ``repeat``, ``sort`` (in
    place), ``std`` and ``var``; and ``copy``, ``fill`` and CuPy's ``get`` (the NumPy array of the values), which
    tensors lack; and ``flatten``, which copies, and ``take`` along an axis.
    Objects that are no tensors are returned as they are. Source: numpy.ndarray.
    """
    return _NumpyMethods(x) if isinstance(x, torch.Tensor) else x


class _NumpyMethods:
    def __init__(self, x: torch.Tensor):
        self._x = x.detach()
        self._xp = array_module(x)

    def copy(self) -> torch.Tensor:
        return self._x.clone()

    def cumprod(self) -> torch.Tensor:
        return self._x.flatten().cumprod(0)

    def cumsum(self) -> torch.Tensor:
        return self._x.flatten().cumsum(0)

    def dot(self, other: Any) -> torch.Tensor:
        y: torch.Tensor = self._xp.dot(self._x, other)
        return y

    def round(self, decimals: int) -> torch.Tensor:
        return self._x.round(decimals=decimals)

    def fill(self, value: Any) -> None:
        self._x.fill_(value)

    def flatten(self) -> torch.Tensor:
        return self._x.flatten().clone()

    def get(self) -> np.ndarray[Any, Any]:
        return self._x.cpu().numpy()

    def max(self, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        y: torch.Tensor = self._xp.max(self._x, axis, keepdims)
        return y

    def mean(self, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        y: torch.Tensor = self._xp.mean(self._x, axis, keepdims=keepdims)
        return y

    def min(self, axis: Any = None, keepdims: bool = False) -> torch.Tensor:
        y: torch.Tensor = self._xp.min(self._x, axis, keepdims)
        return y

    def nonzero(self) -> tuple[torch.Tensor, ...]:
        return torch.nonzero(self._x, as_tuple=True)

    def repeat(self, repeats: Any, axis: int | None = None) -> torch.Tensor:
        y: torch.Tensor = self._xp.repeat(self._x, repeats, axis)
        return y

    def sort(self, axis: int = -1) -> None:
        self._x.copy_(self._xp.sort(self._x, axis))

    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> torch.Tensor:
        y: torch.Tensor = self._xp.std(self._x, axis, ddof=ddof, keepdims=keepdims)
        return y

    def take(self, indices: Any, axis: int | None = None) -> torch.Tensor:
        y: torch.Tensor = self._xp.take(self._x, indices, axis)
        return y

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> torch.Tensor:
        y: torch.Tensor = self._xp.var(self._x, axis, ddof=ddof, keepdims=keepdims)
        return y


def _is_plain(x: Any, name: str) -> bool:
    """Whether it is a module whose class has no method of this name."""
    return isinstance(x, torch.nn.Module) and own_method(x, name) is None


def cleargrads_of(x: Any) -> None:
    """Forgets the gradients of a module (or calls the ``cleargrads`` of another object). Source: chainer.Link.

    What has neither of the two hands it on to a module.
    """
    if isinstance(x, torch.nn.Module):
        clear_gradients(x)
    else:
        (x.cleargrads if hasattr(x, "cleargrads") else x.zero_grad)()


def to_device_of(x: Any, device: Any) -> Any:
    """Sends a module to a device (or calls the object's own ``to_device``). Source: chainer.Link."""
    if isinstance(x, torch.nn.Module) and not hasattr(x, "to_device"):
        return x.to(get_device(device))
    return x.to_device(device)


def to_cpu_of(x: Any) -> Any:
    """Moves a module or a tensor itself to the CPU (or calls the object's own ``to_cpu``).

    A module is returned, a tensor is not. Source: chainer.Link.to_cpu and chainer.Variable.to_cpu.
    """
    if _is_plain(x, "to_cpu"):
        return x.cpu()
    return move_variable(x, "cpu") if isinstance(x, torch.Tensor) else x.to_cpu()


def to_gpu_of(x: Any, device: Any = None) -> Any:
    """Moves a module or a tensor itself to a GPU: the current one, or that of a number or device.

    Of another object its own ``to_gpu`` is called. Source: chainer.Link.to_gpu and chainer.Variable.to_gpu.
    """
    if _is_plain(x, "to_gpu"):
        return x.cuda(device)
    if isinstance(x, torch.Tensor):
        return move_variable(x, "cuda" if device is None else get_device(device))
    return x.to_gpu() if device is None else x.to_gpu(device)


def zerograds_of(x: Any) -> None:
    """Sets the gradients of a module to zeros (or calls the ``zerograds`` of another object). Source: chainer.Link."""
    if isinstance(x, torch.nn.Module):
        zerograds(x)
    else:
        x.zerograds()


def namedparams_of(x: Any, include_uninit: bool = True) -> Any:
    """Chainer's paths and parameters of a module (or what another object's ``namedparams`` gives)."""
    return namedparams(x, include_uninit) if isinstance(x, torch.nn.Module) else x.namedparams(include_uninit)


def namedlinks_of(x: Any, skipself: bool = False) -> Any:
    """Chainer's paths and modules below a module (or what another object's ``namedlinks`` gives)."""
    return namedlinks(x, skipself) if _is_plain(x, "namedlinks") else x.namedlinks(skipself)


def params_of(x: Any, include_uninit: bool = True) -> Any:
    """The parameters of a module in Chainer's order (or what another object's ``params`` gives)."""
    if isinstance(x, torch.nn.Module):
        return params(x, include_uninit)
    return x.params() if include_uninit is True else x.params(include_uninit)


def links_of(x: Any, skipself: bool = False) -> Any:
    """A module and all below it in Chainer's order (or what another object's ``links`` gives)."""
    if _is_plain(x, "links"):
        return links(x, skipself)
    return x.links() if skipself is False else x.links(skipself)


def children_of(x: Any) -> Any:
    """The modules in a module in Chainer's order (or what another object's ``children`` gives)."""
    return children(x) if isinstance(x, torch.nn.Module) else x.children()


def count_params_of(x: Any) -> Any:
    """How many numbers the parameters of a module hold (or what another object's ``count_params`` gives)."""
    return count_params(x) if _is_plain(x, "count_params") else x.count_params()


def addgrads_of(x: Any, link: Any) -> None:
    """Adds the gradients of ``link`` to those of a module (or calls the ``addgrads`` of another object)."""
    if isinstance(x, torch.nn.Module):
        addgrads(x, link)
    else:
        x.addgrads(link)


def add_link_of(x: Any, name: Any, link: Any = None) -> None:
    """Registers a child of a module, by name or at the end (or calls another object's own ``add_link``)."""
    if not isinstance(x, torch.nn.Module) or hasattr(x, "add_link"):
        own: Any = x
        own.add_link(*([name] if link is None else [name, link]))
    elif link is None:
        add_link(x, str(len(list(x.children()))), name)
    else:
        add_link(x, name, link)


def set_update_enabled_of(x: Any, enabled: bool) -> None:
    """Lets optimizers change the parameters of a module or not (or calls another object's own method)."""
    if isinstance(x, torch.nn.Module) and not hasattr(x, "enable_update"):
        set_update_enabled(x, enabled)
    elif enabled:
        x.enable_update()
    else:
        x.disable_update()


def set_array_of(x: Any, array: Any) -> None:
    """Has a tensor hold an array from now on (or sets the attribute ``array`` of another object)."""
    if isinstance(x, torch.Tensor):
        set_array(x, array)
    else:
        x.array = array


def copy_of(x: Any, mode: str = "share") -> Any:
    """A copy of a module as Chainer makes it (or what another object's ``copy`` gives)."""
    return copy_link(x, mode) if isinstance(x, torch.nn.Module) and not hasattr(x, "copy") else x.copy(mode)


def copyparams_of(x: Any, link: Any, copy_persistent: bool = True) -> None:
    """Copies the parameters of ``link`` into a module (or calls the ``copyparams`` of another object)."""
    if isinstance(x, torch.nn.Module):
        copyparams(x, link, copy_persistent)
    else:
        x.copyparams(link, copy_persistent)


def unchain_of(x: Any) -> None:
    """Has a tensor forget how it was made (or calls the ``unchain`` of another object)."""
    if isinstance(x, torch.Tensor):
        unchain(x)
    else:
        x.unchain()


def unchain_backward_of(x: Any) -> None:
    """Cuts the graph behind a tensor (or calls the ``unchain_backward`` of another object)."""
    if isinstance(x, torch.Tensor):
        unchain_backward(x)
    else:
        x.unchain_backward()


def copyto(dst: Any, src: Any) -> None:
    """Writes ``src`` (an array, a tensor or a number) into the tensor or array ``dst``, broadcast to its shape.

    As in NumPy the dtype of ``dst`` must be able to hold that of ``src`` (``same_kind``), else TypeError is raised;
    shapes that do not fit raise RuntimeError for a tensor and ValueError for an array. Source: numpy.copyto.
    """
    if not isinstance(dst, torch.Tensor):
        np.copyto(dst, src.detach().cpu().numpy() if isinstance(src, torch.Tensor) else src)
        return
    if isinstance(src, (bool, int, float, complex)):
        value = torch.as_tensor(src)  # a Python number has no dtype of its own
    else:
        value = src.detach() if isinstance(src, torch.Tensor) else torch.as_tensor(np.asarray(src))
        if not np.can_cast(_dtype_in_numpy(value), _dtype_in_numpy(dst), "same_kind"):
            raise TypeError(f"cannot write {value.dtype} into a tensor of {dst.dtype}")
    with torch.no_grad():
        dst.copy_(value)


def _dtype_in_numpy(x: torch.Tensor) -> np.dtype[Any]:
    return torch.empty(0, dtype=x.dtype).numpy().dtype
