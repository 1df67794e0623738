"""Divides work among processes that share what was known when they began.

The analysis of a project is one thing and stays in one process; once it is done its files are independent of each
other. The processes are forked, so the analysis is theirs without a copy; where there is no fork (Windows) one process
does it all, with the same result.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

Result = TypeVar("Result")
# so much text keeps a process busy for a few seconds; for less it is not worth starting one
_SHARE = 250_000


class WorkError(Exception):
    """A process could not do its work; the message says what went wrong there."""


def sensible_jobs(size: int) -> int:
    """How many processes are worth it for so many characters of source text."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, size // _SHARE))


def spread(work: Callable[[str], Result], sizes: Mapping[str, int], jobs: int) -> Iterator[tuple[str, Result]]:
    """``work(key)`` for every key of ``sizes``, with its result, as they are done; large ones are begun first.

    ``work`` is called in up to ``jobs`` processes (0: as many as are worth it), its results must be picklable.
    WorkError when it raises there; then, and when this generator is closed or interrupted, all processes end.
    """
    jobs = min(jobs or sensible_jobs(sum(sizes.values())), len(sizes))
    if jobs <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        for key in sizes:
            yield key, work(key)
        return
    context = multiprocessing.get_context("fork")
    pending: dict[Any, Any] = {}  # the ends of pipes, and the processes at their other ends
    try:
        for keys in _shares(sizes, jobs):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_run, args=(work, keys, sender), daemon=True)
            process.start()
            sender.close()
            pending[receiver] = process
        while pending:
            for ready in wait(list(pending)):
                end: Any = ready
                try:
                    key, result, problem = end.recv()
                except EOFError:
                    process = pending.pop(end)
                    process.join()
                    raise WorkError(f"a process ended with status {process.exitcode}") from None
                if key is None:
                    pending.pop(end).join()
                elif problem is not None:
                    raise WorkError(problem)
                else:
                    yield key, result
    finally:
        for process in pending.values():
            process.terminate()
            process.join()


def _shares(sizes: Mapping[str, int], jobs: int) -> Sequence[list[str]]:
    """The keys in as many lists, each with about the same size in all."""
    shares: list[list[str]] = [[] for _ in range(jobs)]
    load = [0] * jobs
    for key in sorted(sizes, key=lambda key: (-sizes[key], key)):
        least = load.index(min(load))
        shares[least].append(key)
        load[least] += sizes[key] + 1
    return shares


def _run(work: Callable[[str], Any], keys: Sequence[str], sender: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; whoever started this process ends it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for key in keys:
        try:
            message: tuple[str, Any, str | None] = key, work(key), None
        except Exception as error:
            message = key, None, f"{type(error).__name__}: {error}"
        sender.send(message)
    sender.send((None, None, None))
    sender.close()
