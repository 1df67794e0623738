"""Divides work among processes that share what was known when they began.

The analysis of a project is one thing and stays in one process; once it is done its files are independent of each
other. The processes are forked, so the analysis is theirs without a copy; where there is no fork (Windows) one process
does it all, with the same result. A process that dies takes nothing with it: what it had not done is done again, by
others that know the same, and only the one file with which a process dies twice fails.
"""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from chainer2torch.project.files import interrupts_wait

if TYPE_CHECKING:  # it is imported where there are processes: most projects are done in one
    from multiprocessing.connection import Connection

Result = TypeVar("Result")
# so much text keeps a process busy for a few seconds; for less it is not worth starting one
_SHARE = 250_000


@dataclasses.dataclass(frozen=True)
class Failed:
    """In the place of a result: the work on one key could not be done; ``reason`` says what went wrong."""

    reason: str


class WorkError(Exception):
    """The work on a key failed where all results are needed; the message names the key and says what went wrong."""


def sensible_jobs(size: int) -> int:
    """How many processes are worth it for so many characters of source text."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, size // _SHARE))


def spread(work: Callable[[str], Result], sizes: Mapping[str, int], jobs: int) -> Iterator[tuple[str, Result | Failed]]:
    """``work(key)`` for every key of ``sizes``, with its result, as they are done; large ones are begun first.

    ``work`` is called in up to ``jobs`` processes (0: as many as are worth it), its results must be picklable. When it
    raises there, or its process dies, it is tried once more at the end, in a process of its own; then its result is
    ``Failed``. When this generator is closed or interrupted, all processes end.
    """
    jobs = min(jobs or sensible_jobs(sum(sizes.values())), len(sizes))
    if jobs <= 1 or not _can_fork():
        for key in sizes:
            yield key, _tried(work, key)
        return
    pool = _Pool(work)
    try:
        for keys in _shares(sizes, jobs):
            yield from pool.start(keys)
        again: list[str] = []
        for key, result in pool.results():
            if isinstance(result, Failed):
                again.append(key)
            else:
                yield key, result
        for key in again:  # one after the other: it may have been memory that was short
            yield from pool.start([key])
            yield from pool.results()
    finally:
        pool.end()


def _can_fork() -> bool:
    import multiprocessing

    return "fork" in multiprocessing.get_all_start_methods()


def _tried(work: Callable[[str], Result], key: str) -> Result | Failed:
    try:
        return work(key)
    except Exception as error:
        return Failed(" ".join(f"{type(error).__name__}: {error}".split()))


class _Pool:
    """The processes that run, each with the keys that it has not done yet."""

    def __init__(self, work: Callable[[str], Any]) -> None:
        import multiprocessing

        self.work = work
        self.context = multiprocessing.get_context("fork")
        self.running: dict[Any, tuple[Any, list[str]]] = {}  # by the ends of their pipes

    def start(self, keys: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Starts a process; where the system has none left the work is done here, and its results are given."""
        receiver, sender = self.context.Pipe(duplex=False)
        process = self.context.Process(target=_run, args=(self.work, keys, sender), daemon=True)
        try:
            with interrupts_wait():  # else a process could be left that nobody knows
                process.start()
                self.running[receiver] = process, list(keys)
        except OSError:
            receiver.close()
            yield from ((key, _tried(self.work, key)) for key in keys)
        finally:
            sender.close()

    def results(self) -> Iterator[tuple[str, Any]]:
        """What the processes send until all have ended."""
        from multiprocessing.connection import wait

        while self.running:
            for ready in wait(list(self.running)):
                end: Any = ready
                process, keys = self.running[end]
                try:
                    key, result = end.recv()
                except (EOFError, OSError):  # it has ended, perhaps in the middle of a message
                    del self.running[end]
                    process.join()
                    if keys:
                        yield keys[0], Failed(_death(process.exitcode))
                        if keys[1:]:
                            yield from self.start(keys[1:])
                else:
                    keys.remove(key)
                    yield key, result

    def end(self) -> None:
        for process, _ in self.running.values():
            process.terminate()
            process.join()


def _death(status: int | None) -> str:
    if status is not None and status < 0:
        return f"a process was ended by signal {-status} ({signal.Signals(-status).name}); memory may be short"
    return f"a process ended with status {status}"


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
        sender.send((key, _tried(work, key)))
    sender.close()


def collect(work: Callable[[str], Result], sizes: Mapping[str, int], jobs: int) -> dict[str, Result]:
    """The results of :func:`spread` by key. Raises WorkError when one of them is missing."""
    found: dict[str, Result] = {}
    for key, result in spread(work, sizes, jobs):
        if isinstance(result, Failed):
            raise WorkError(f"{key}: {result.reason}")
        found[key] = result
    return found
