"""Function hooks that measure or print: time, memory of the GPU, ranges for its profiler, the arrays themselves."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import torch

from chainer2torch.compat.backend.devices import check_cuda_available
from chainer2torch.compat.hooks.function_hooks import FunctionHook
from chainer2torch.compat.hooks.link_hooks import CallTimes, print_table
from chainer2torch.compat.variable.variables import debug_print


class FunctionTimerHook(CallTimes, FunctionHook):
    """Measures how long functions take, forward and backward, by their names.

    On a GPU it waits for the device before and after. Source: chainer.function_hooks.TimerHook.
    """

    name = "TimerHook"
    first_column = "FunctionName"
    _reads_in_data = False

    def __init__(self) -> None:
        super().__init__()
        self._running: list[float] = []

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        _wait_for_device()
        self._running.append(time.perf_counter())

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        _wait_for_device()
        elapsed = time.perf_counter() - self._running.pop()
        self.call_history.append((function._impl_name, elapsed))
        if not self._running:
            self._total += elapsed

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        self.forward_preprocess(function, in_data)

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        self.forward_postprocess(function, in_data)


class CUDAProfileHook(FunctionHook):
    """Marks a range for NVIDIA's profiler at every function: ``relu.forward``, ``relu.backward``.

    Raises:
        RuntimeError: there is no GPU.
    Source: chainer.function_hooks.CUDAProfileHook.
    """

    name = "CUDAProfileHook"
    _reads_in_data = False

    def __init__(self) -> None:
        check_cuda_available()

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        torch.cuda.nvtx.range_push(function.label + ".forward")

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        torch.cuda.nvtx.range_pop()

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        torch.cuda.nvtx.range_push(function.label + ".backward")

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        torch.cuda.nvtx.range_pop()


class CudaMemoryProfileHook(FunctionHook):
    """Counts the bytes of the GPU that functions use, forward and backward, by their names.

    Used bytes are all that a function asks PyTorch's allocator for, also what it gives back; acquired bytes are what
    the allocator itself had to take from the device for them. ``call_history`` holds ``(name, used, acquired, depth)``.
    Raises:
        RuntimeError: there is no GPU.
    Source: chainer.function_hooks.CupyMemoryProfileHook (which counts CuPy's pool).
    """

    name = "CupyMemoryProfileHook"
    _reads_in_data = False
    _units = ("B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB")

    def __init__(self) -> None:
        check_cuda_available()
        self.call_history: list[tuple[str, int, int, int]] = []
        self._running: list[tuple[int, int]] = []
        self._totals = (0, 0)

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self._running.append(_bytes_so_far())

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        start = self._running.pop()
        used, acquired = (now - then for now, then in zip(_bytes_so_far(), start))
        self.call_history.append((function._impl_name, used, acquired, len(self._running)))
        if not self._running:
            self._totals = (self._totals[0] + used, self._totals[1] + acquired)

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        self.forward_preprocess(function, in_data)

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        self.forward_postprocess(function, in_data)

    def total_used_bytes(self) -> int:
        """The bytes that the outermost functions used."""
        return self._totals[0]

    def total_acquired_bytes(self) -> int:
        """The bytes that were taken from the device in the outermost functions."""
        return self._totals[1]

    def summary(self) -> dict[str, dict[str, int]]:
        """``{name: {'used_bytes': bytes, 'acquired_bytes': bytes, 'occurrence': calls}}``."""
        result: dict[str, dict[str, int]] = {}
        for name, used, acquired, _ in self.call_history:
            record = result.setdefault(name, {"used_bytes": 0, "acquired_bytes": 0, "occurrence": 0})
            record["used_bytes"] += used
            record["acquired_bytes"] += acquired
            record["occurrence"] += 1
        return result

    def print_report(self, unit: str = "auto", file: Any = None) -> None:
        """Prints the summary; ``unit`` is B, KB, ..., ZB, auto (those of the largest) or auto_foreach."""
        columns = ("used_bytes", "acquired_bytes")
        summary = self.summary()
        rows = [("FunctionName", "UsedBytes", "AcquiredBytes", "Occurrence")]
        for name, record in summary.items():
            shown = [
                self._in_unit(
                    record[column],
                    unit
                    if unit not in ("auto", "auto_foreach")
                    else self._unit_of(
                        max(other[column] for other in summary.values()) if unit == "auto" else record[column]
                    ),
                )
                for column in columns
            ]
            rows.append((name, shown[0], shown[1], str(record["occurrence"])))
        print_table(rows, file)

    def _in_unit(self, size: int, unit: str) -> str:
        return f"{size / 1024 ** self._units.index(unit):3.2f}{unit}"

    def _unit_of(self, size: int) -> str:
        return next((unit for i, unit in enumerate(self._units[:-1]) if size < 1024 ** (i + 1)), self._units[-1])


class PrintHook(FunctionHook):
    """Prints the name of every function, what its inputs are and, in the backward pass, the gradients of its output.

    Args:
        sep: without meaning, as in Chainer.
        end: printed after every line.
        file: where it is printed; None is the standard output.
        flush: whether ``file`` is flushed after every function.
    Source: chainer.function_hooks.PrintHook.
    """

    name = "PrintHook"

    def __init__(self, sep: Any = None, end: str = "\n", file: Any = None, flush: bool = True) -> None:
        if sep is not None:
            warnings.warn("`sep` has no meaning", DeprecationWarning, stacklevel=2)
        self.sep = sep
        self.end = end
        self.file = sys.stdout if file is None else file
        self.flush = flush

    def _print(self, text: str) -> None:
        self.file.write(text + self.end)

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self._describe(function, in_data)
        self._flush()

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        self._describe(function, in_data)
        self._print("output gradient")
        for gradient in out_grad:
            if gradient is None:
                self._print(
                    "<variable>\n- device: None\n- backend: None\n- shape: None\n- dtype: None\n"
                    "- statistics: None\n- grad: None"
                )
                continue
            shown = torch.zeros_like(gradient)
            shown.grad = gradient
            self._print(debug_print(shown))
        self._flush()

    def _describe(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self._print(f"function\t{function.label}")
        self._print("input data")
        for x in in_data:
            self._print("(removed)" if x is None else debug_print(x))

    def _flush(self) -> None:
        if self.flush and hasattr(self.file, "flush"):
            self.file.flush()


def _bytes_so_far() -> tuple[int, int]:
    """What was ever asked of PyTorch's allocator, and what it ever took from the device."""
    statistics = torch.cuda.memory_stats()
    return statistics["requested_bytes.all.allocated"], statistics["reserved_bytes.all.allocated"]


def _wait_for_device() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
