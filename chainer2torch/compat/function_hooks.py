"""Hooks that see every call of a function of PyTorch."""
import time
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from chainer2torch.compat.link_hooks import CallTimes


class FunctionTimerHook(CallTimes):
    """Measures the functions and methods of PyTorch that are called inside its block, by their names.

    ``backward`` is one call: what runs inside it is not measured apart. Calls that a function makes itself count for
    it. On a GPU it waits for the device before and after. Source: chainer.function_hooks.TimerHook.
    """

    name = "TimerHook"
    first_column = "FunctionName"

    def __enter__(self) -> "FunctionTimerHook":
        self._mode = _TimingMode(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._mode.__exit__(*exception)

    def record(self, name: str, elapsed: float) -> None:
        """Notes one call that took so many seconds."""
        self.call_history.append((name, elapsed))
        self._total += elapsed


class _TimingMode(TorchFunctionMode):
    def __init__(self, hook: FunctionTimerHook) -> None:
        super().__init__()
        self.hook = hook

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", type(func).__name__)
        if name in ("__get__", "__set__"):  # an attribute such as `x.shape`
            return func(*args, **(kwargs or {}))
        _wait_for_device()
        start = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        _wait_for_device()
        self.hook.record(name, time.perf_counter() - start)
        return result


def _wait_for_device() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
