"""Modules with ``to_gpu`` and ``to_cpu`` methods of their own, which move more than parameters and buffers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn


class MovedModule(nn.Module):
    """A module whose own ``to_gpu(device)`` or ``to_cpu()`` also runs when ``cuda()``, ``cpu()`` or ``to()`` moves it.

    That may be a call for the module itself or for one that contains it. A ``to_gpu`` without a parameter gets none.
    Source: chainer.Link, whose to_gpu(), to_cpu() and to_device() call what a link inside has overridden.
    """

    _moving = False  # whether a method of its own is moving it
    _lies_on: Any = None  # where it was moved to; None: nowhere yet

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("to_gpu", "to_cpu"):
            if name in vars(cls):
                setattr(cls, name, _noted(vars(cls)[name]))

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        # every move and conversion of a module goes through here
        if self._moving:
            return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch gives it no types
        tensor = next((t for t in (*self.parameters(), *self.buffers())), None)
        before = tensor.device if tensor is not None else self._lies_on or torch.device("cpu")
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        after = fn(torch.empty(0, device=before)).device
        if after != before:
            self._lies_on = after
            own = getattr(self, "to_cpu" if after.type == "cpu" else "to_gpu", None)
            if own is not None:
                own(*([after.index] if after.type != "cpu" and inspect.signature(own).parameters else []))
        return self


def _noted(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        outermost, self._moving = not self._moving, True
        try:
            return method(self, *args, **kwargs)
        finally:
            if outermost:
                self._moving = False

    return move


__all__ = ["MovedModule"]
