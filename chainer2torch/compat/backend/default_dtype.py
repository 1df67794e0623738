"""Chainer's default dtype (``chainer.config.dtype``), which in torch is the default dtype of new tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch


class Mixed16:
    """The default dtype of mixed precision: what is made has float32, and ``torch.autocast`` computes in float16.

    Where NumPy takes a dtype, it takes this as float32. Source: chainer.mixed16, which makes float16 parameters.
    """

    dtype = np.dtype(np.float32)

    def __repr__(self) -> str:
        return "dtype('mixed16')"


mixed16 = Mixed16()


def default_dtype() -> Any:
    """The default dtype as NumPy's. Source: chainer.config.dtype."""
    if torch.is_autocast_enabled("cuda"):  # where: mixed16
        return mixed16
    return np.dtype(str(torch.get_default_dtype()).replace("torch.", ""))


def set_default_dtype(dtype: Any) -> None:
    """Sets the default dtype from NumPy's (or its name), or mixed precision on GPUs.

    Raises:
        ValueError: it is no floating dtype.
    Source: chainer.config.dtype.
    """
    _autocast(dtype is mixed16)  # where: mixed16
    wanted = np.dtype(dtype)
    if wanted.kind != "f":
        raise ValueError(f"the default dtype must be floating, not {wanted}")
    torch.set_default_dtype(getattr(torch, wanted.name))


def _autocast(enabled: bool) -> None:
    torch.set_autocast_dtype("cuda", torch.float16)
    torch.set_autocast_enabled("cuda", enabled)
    # casted weights are kept until the context of torch.autocast is left; here none is, and an update changes them
    torch.set_autocast_cache_enabled(not enabled)


@contextlib.contextmanager
def using_default_dtype(dtype: Any) -> Iterator[None]:
    """Runs a block with another default dtype. Source: ``chainer.using_config('dtype', dtype)``.

    Raises:
        ValueError: as in :func:`set_default_dtype`.
    """
    before = default_dtype()
    set_default_dtype(dtype)
    try:
        yield
    finally:
        set_default_dtype(before)


def get_dtype(dtype: Any = None) -> np.dtype:
    """``dtype`` as NumPy's, or the default dtype for None. Source: chainer.get_dtype."""
    found: np.dtype = np.dtype(default_dtype() if dtype is None else dtype)
    return found
