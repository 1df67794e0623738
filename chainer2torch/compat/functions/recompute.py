"""Calling a function without keeping its intermediate results: they are computed again in the backward pass."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint


def forget(func: Callable[..., Any], *xs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Calls ``func(*xs)`` and forgets its intermediate results until backward computes them again.

    Source: chainer.functions.forget. The second call draws the same random numbers (Chainer's draws new ones), and it
    leaves the running statistics of batch normalization alone, as Chainer's does.

    Args:
        func: Function of tensors that returns a tensor or a tuple of tensors.
        xs: Its arguments.

    Raises:
        RuntimeError: ``func`` returns something else.
        TypeError: ``func`` cannot be called.
    """
    if not callable(func):
        raise TypeError("func must be callable")
    y: torch.Tensor | tuple[torch.Tensor, ...] = checkpoint(
        func, *xs, use_reentrant=False, context_fn=lambda: (contextlib.nullcontext(), _KeepRunningStatistics())
    )
    outputs = y if isinstance(y, tuple) else (y,)
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        raise RuntimeError(f"func must return a tensor or a tuple of tensors, not {type(y)}")
    return outputs[0] if len(outputs) == 1 else y


class _KeepRunningStatistics(TorchFunctionMode):
    """Within it batch normalization updates copies of its running statistics."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.nn.functional.batch_norm:
            return self._with_copies(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    @staticmethod
    def _with_copies(input: Any, running_mean: Any, running_var: Any, *args: Any, **kwargs: Any) -> Any:
        copies = [None if t is None else t.clone() for t in (running_mean, running_var)]
        return torch.nn.functional.batch_norm(input, copies[0], copies[1], *args, **kwargs)
