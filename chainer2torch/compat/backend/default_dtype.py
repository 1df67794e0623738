"""Chainer's default dtype (``chainer.config.dtype``), which in torch is the default dtype of new tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch


def default_dtype() -> np.dtype:
    """The default dtype as NumPy's. Source: chainer.config.dtype."""
    return np.dtype(str(torch.get_default_dtype()).replace("torch.", ""))


def set_default_dtype(dtype: Any) -> None:
    """Sets the default dtype from NumPy's (or its name).

    Raises:
        ValueError: it is no floating dtype. Chainer's ``mixed16`` has no counterpart.
    Source: chainer.config.dtype.
    """
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise ValueError(f"{dtype!r} is no dtype of NumPy; mixed16 has no counterpart") from None
    if wanted.kind != "f":
        raise ValueError(f"the default dtype must be floating, not {wanted}")
    torch.set_default_dtype(getattr(torch, wanted.name))


@contextlib.contextmanager
def using_default_dtype(dtype: Any) -> Iterator[None]:
    """Runs a block with another default dtype. Source: ``chainer.using_config('dtype', dtype)``.

    Raises:
        ValueError: as in :func:`set_default_dtype`.
    """
    before = torch.get_default_dtype()
    set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def get_dtype(dtype: Any = None) -> np.dtype:
    """``dtype`` as NumPy's, or the default dtype for None. Source: chainer.get_dtype."""
    return default_dtype() if dtype is None else np.dtype(dtype)
