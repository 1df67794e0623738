"""Files of weights that are not there, on PyTorch's side: what ``chainer_absent`` does on the other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch


class _Absent(dict[str, Any]):
    """What ``torch.load`` gives of a file that is not there: a module that loads it stays as it is."""


@contextlib.contextmanager
def weights() -> Iterator[None]:
    """Modules are loaded from the files that are there alone."""
    read, load = torch.load, torch.nn.Module.load_state_dict

    def read_what_is_there(file: Any, *args: Any, **kwargs: Any) -> Any:
        return _Absent() if _is_absent(file) else read(file, *args, **kwargs)

    def load_what_is_there(module: torch.nn.Module, state: Any, *args: Any, **kwargs: Any) -> Any:
        return None if isinstance(state, _Absent) else load(module, state, *args, **kwargs)

    torch.load = read_what_is_there
    torch.nn.Module.load_state_dict = load_what_is_there  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.load = read
        torch.nn.Module.load_state_dict = load  # type: ignore[method-assign]


def of_helpers(helpers: Any) -> None:
    """The same for a project's own helpers."""
    for name in ("load_npz", "load_hdf5"):
        load = getattr(helpers, name, None)
        if load is not None and not hasattr(load, "asks"):
            setattr(helpers, name, _of_what_is_there(load))
    cached = getattr(helpers, "cache_or_load_file", None)
    if cached is not None and not hasattr(cached, "asks"):
        helpers.cache_or_load_file = _cached_alone(cached)


def _is_absent(file: Any) -> bool:
    return isinstance(file, (str, os.PathLike)) and not os.path.exists(file)


def _of_what_is_there(load: Callable[..., Any]) -> Callable[..., Any]:
    def loaded(file: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(obj, torch.nn.Module) and _is_absent(file):
            return None
        return load(file, obj, *args, **kwargs)

    loaded.asks = True  # type: ignore[attr-defined]
    return loaded


def _cached_alone(cached: Callable[..., Any]) -> Callable[..., Any]:
    def alone(path: str, creator: Any, loader: Any) -> Any:
        return cached(path, creator, loader) if os.path.exists(path) else None

    alone.asks = True  # type: ignore[attr-defined]
    return alone
