"""Indices with NumPy's meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def get_item(x: Tensor, slices: Any) -> Tensor:
    """``x[slices]`` with NumPy's meaning, which torch has not for numbers and ``...`` beside arrays.

    Source: chainer.functions.get_item.
    """
    several = isinstance(slices, list) and not all(isinstance(item, int) for item in slices)
    items = tuple(slices) if several or isinstance(slices, tuple) else (slices,)
    index = [_index(item, x.device) for item in items]
    arrays = any(isinstance(item, Tensor) and item.dim() for item in index)
    if any(isinstance(i, slice) and (i.step or 1) < 0 or arrays and i is Ellipsis for i in items):
        host = tuple(item.cpu().numpy() if isinstance(item, Tensor) else item for item in index)
        places = np.array(np.arange(x.numel()).reshape(x.shape)[host])
        return x.flatten()[torch.as_tensor(places, device=x.device)]
    if arrays:  # then a number is one, too
        index = [torch.as_tensor([int(i)], device=x.device) if _is_number(i) else i for i in index]
    return x[tuple(index)]


def _index(item: Any, device: torch.device) -> Any:
    if isinstance(item, (list, np.ndarray)):
        item = torch.as_tensor(np.asarray(item), device=device)
    item = bool(item) if isinstance(item, np.bool_) else item
    return item.long() if isinstance(item, Tensor) and item.dtype != torch.bool else item


def _is_number(i: Any) -> bool:
    return (
        isinstance(i, np.integer) or type(i) is int or isinstance(i, Tensor) and i.dtype == torch.long and not i.dim()
    )
