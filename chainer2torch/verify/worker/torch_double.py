"""The float64 pass of a script under PyTorch: parameters, batches and the inputs of modules are float64."""

import importlib.machinery
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.jit import _builtins

# what stands where an array was made for a Variable
_MAKERS = ("zeros", "ones", "full", "eye", "arange", "tensor")


def install() -> None:
    """Makes float64 the dtype of new parameters, and casts tensors made from float32 arrays and modules' inputs."""
    torch.set_default_dtype(torch.float64)
    from_numpy = torch.from_numpy
    as_tensor = torch.as_tensor
    torch.from_numpy = lambda array: double(from_numpy(array))  # type: ignore[assignment]

    def as_double(data: Any, *args: Any, **kwargs: Any) -> Any:
        # also with a dtype: the other side casts a Variable of whichever array. What it computes with arrays alone
        # before that stays float32 there and not here, which is a difference of some 1e-9
        made = as_tensor(data, *args, **kwargs)
        return made if isinstance(data, torch.Tensor) else double(made)

    torch.as_tensor = as_double
    for name in _MAKERS:
        setattr(torch, name, _making_doubles(getattr(torch, name)))
    torch.nn.modules.module.register_module_forward_pre_hook(lambda module, args: double(args))
    _change_helpers()


def _making_doubles(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A function of torch's that gives float64 where it is asked for float32: a Variable of such an array was cast.

    Functions that torch.jit compiles, as those of libraries, have the function itself.
    """

    def making(*args: Any, **kwargs: Any) -> torch.Tensor:
        return double(make(*args, **kwargs))  # type: ignore[no-any-return]

    _builtins._register_builtin(making, _builtins._find_builtin(make))
    return making


def _change_helpers() -> None:
    """Where a float32 tensor of the script's meets float64, the project's helpers promote it as PyTorch does.

    Without this pass they would have one dtype: the helpers refuse a mixture, as Chainer does. And images of data sets
    are scaled in float32, not in the default dtype, as on the other side.
    """
    execute = importlib.machinery.SourceFileLoader.exec_module

    def exec_module(self: importlib.machinery.SourceFileLoader, module: types.ModuleType) -> None:
        execute(self, module)
        if module.__name__.rpartition(".")[2] != "chainer_compat":
            return
        check = getattr(module, "_check_same", None)
        if check is not None:
            setattr(module, "_check_same", lambda name, *tensors: check(name, *double(tensors)))  # noqa: B010
        of_images = getattr(module, "_image_dtype", None)
        if of_images is not None:
            scaled_in = lambda dtype: of_images("float32" if dtype is None else dtype)  # noqa: E731
            setattr(module, "_image_dtype", scaled_in)  # noqa: B010
        read = getattr(module, "read_picture", None)  # the short helpers read them with this
        if read is not None:
            setattr(module, "read_picture", _in_single(read))  # noqa: B010

    importlib.machinery.SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign, assignment]


def _in_single(read: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A reader of pictures that gives float32 where no dtype is said."""
    return lambda path, dtype: read(path, "float32" if dtype is None else dtype)


def double(value: Any, leaves: bool = False) -> Any:
    """``value`` with float32 tensors in it as float64; ``leaves``: also those to which gradients are asked for."""
    if type(value) in (list, tuple):
        return type(value)(double(item, leaves) for item in value)
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        return value.double() if leaves or not value.is_leaf or not value.requires_grad else value
    return value
