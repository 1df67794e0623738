"""A program that is written for a GPU alone, on the CPU: what it asks of ``cuda`` is made on the host.

The other side computes with NumPy in CuPy's place there (``host_cupy.computes``). Nothing is compared that either side
did not compute; how it would come out on a GPU is not part of it.
"""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_ASKS = re.compile(rb"""["']cuda|\.cuda\(|cuda\.set_device""")


def _nothing() -> Callable[..., None]:
    """There is one device, which is ready at any time."""
    return lambda *args: None


# What programs call of the module. No two names are one function: torch's compiler, which what a program imports later
# may load, keeps a rule for each function of the module, and refuses one with two.
_HOST: dict[str, Any] = {
    **{name: _nothing() for name in ("init", "set_device", "synchronize", "empty_cache", "reset_peak_memory_stats")},
    "device": type("device", (contextlib.nullcontext,), {}),
    "current_device": lambda: 0,
}


class OnHost(TorchFunctionMode):
    """Calls with a device of CUDA get the CPU in its place."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The call with the CPU wherever a device stands."""
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.device and args and args[0] == "cuda":  # with a number behind it, which the CPU has not
            return torch.device("cpu")
        return func(*map(_host, args), **{name: _host(value) for name, value in (kwargs or {}).items()})


def _host(value: Any) -> Any:
    is_cuda = (
        value.type == "cuda"
        if isinstance(value, torch.device)
        else isinstance(value, str) and re.match(r"cuda(:\d+)?$", value)
    )
    return torch.device("cpu") if is_cuda else value


@contextlib.contextmanager
def on_host(tree: str, device: str) -> Iterator[None]:
    """Around what runs on the CPU of a program whose own files ask for CUDA; nothing else is touched."""
    if device != "cpu" or torch.cuda.is_available() or not _asks(Path(tree)):
        yield
        return
    with gpu_on_host():
        yield


@contextlib.contextmanager
def gpu_on_host() -> Iterator[None]:
    """What is asked of ``cuda`` is made on the host."""
    kept = {name: getattr(torch.cuda, name) for name in _HOST}
    try:
        for name, stand_in in _HOST.items():
            setattr(torch.cuda, name, stand_in)
        with OnHost():
            yield
    finally:
        for name, own in kept.items():
            setattr(torch.cuda, name, own)


def _asks(tree: Path) -> bool:
    """Whether a file of the program names CUDA; its helpers do in any case."""
    return any(_ASKS.search(path.read_bytes()) for path in tree.rglob("*.py") if path.name != "chainer_compat.py")
