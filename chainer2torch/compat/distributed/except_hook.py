"""An exception that nobody catches ends the whole job and not only the process where it was raised."""

from __future__ import annotations

import io
import os
import sys
import warnings
from types import TracebackType

import torch.distributed as dist


def add_global_except_hook() -> None:
    """Prints an uncaught exception with the rank and ends the process at once, so that the launcher ends the job.

    Without it Python first waits for threads and destructors, some of which wait for other processes. torchrun and
    mpirun end all processes when one of them fails. Source: chainermn.global_except_hook.add_hook.
    """
    if isinstance(sys.excepthook, _AbortingHook):
        warnings.warn("add_global_except_hook() seems to be called multiple times. Ignoring.", stacklevel=2)
        return
    sys.excepthook = _AbortingHook()


def add_hook_if_enabled() -> None:
    """Installs the hook when CHAINERMN_FORCE_ABORT_ON_EXCEPTION is set to something."""
    if os.environ.get("CHAINERMN_FORCE_ABORT_ON_EXCEPTION") and not isinstance(sys.excepthook, _AbortingHook):
        add_global_except_hook()


class _AbortingHook:
    """What ``sys.excepthook`` becomes: the old hook, then the end of the process."""

    def __init__(self) -> None:
        self._previous = sys.excepthook

    def __call__(self, kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        try:
            self._previous(kind, value, trace)
        finally:
            rank = dist.get_rank() if dist.is_initialized() else 0
            # torch.distributed's own hook, which may be around this one, collects the text to print it later
            collected = sys.stderr.getvalue() if isinstance(sys.stderr, io.StringIO) else ""
            stream = sys.__stderr__ if collected and sys.__stderr__ is not None else sys.stderr
            stream.write(f"{collected}\nUncaught exception on rank {rank}: ending the process, so that the job ends.\n")
            stream.flush()
            os._exit(1)
