"""Volatile variables of Chainer version 1, of which no flag is asked: what is computed from them keeps no graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


class VolatileTensor(torch.Tensor):
    """A tensor without a graph; neither has what is computed from it, but from its array (``x.detach()``, ``x.data``).

    New code says ``with torch.no_grad():``. Source: a Variable of Chainer version 1 with ``volatile='on'``.
    """

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch.no_grad():
            y = super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        is_array = func in (torch.Tensor.detach, torch.Tensor.data.__get__)  # type: ignore[attr-defined]
        return y.as_subclass(torch.Tensor) if is_array else y

    def __deepcopy__(self, memo: dict[int, Any]) -> VolatileTensor:  # where: copy, deepcopy
        return self.detach().clone().as_subclass(VolatileTensor)


def volatile_variable(
    data: Any,
    volatile: Any,
    grad: Any = None,  # where: grad=
) -> torch.Tensor:
    """A tensor on the memory of an array: without a graph for 'on', 'ON' and True, else the start of one.

    Source: chainer.Variable of version 1.
    """
    if volatile not in ("on", "off", "auto", "ON", "OFF", "AUTO", True, False, None):
        raise ValueError(f"volatile is 'on', 'off' or 'auto', not {volatile!r}")
    if isinstance(data, np.ndarray) and min(data.strides, default=0) < 0:
        data = data.copy()  # torch has no view of an image that is turned round
    x = torch.as_tensor(data).detach()
    x = x.as_subclass(VolatileTensor) if volatile in ("on", "ON", True) else x.requires_grad_(x.is_floating_point())
    if grad is not None:  # where: grad=
        x.grad = torch.as_tensor(grad, device=x.device)
    return x
