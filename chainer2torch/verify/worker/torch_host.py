"""A program that is written for a GPU alone, on the CPU: what it asks of ``cuda`` is made on the host.

The other side computes with NumPy in CuPy's place there (``host_cupy.computes``). Nothing is compared that either side
did not compute; how it would come out on a GPU is not part of it.
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_ASKS = re.compile(rb"""["']cuda|\.cuda\(|cuda\.set_device""")


class OnHost(TorchFunctionMode):
    """Calls with a device of CUDA get the CPU in its place."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The call with the CPU wherever a device stands."""
        if func is torch.Tensor.cuda:
            return args[0]
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
    set_device, torch.cuda.set_device = torch.cuda.set_device, lambda device: None
    try:
        with OnHost():
            yield
    finally:
        torch.cuda.set_device = set_device


def _asks(tree: Path) -> bool:
    """Whether a file of the program names CUDA; its helpers do in any case."""
    return any(_ASKS.search(path.read_bytes()) for path in tree.rglob("*.py") if path.name != "chainer_compat.py")
