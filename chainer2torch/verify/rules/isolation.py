"""Runs what may not come back, mutants, in processes of their own and with a limit of time."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_WAITS = 10  # how much longer what computes nothing may take: a machine may have other work
Result = tuple[str, str]  # a status, and why


class Slow(BaseException):
    """A mutant took too long. No handler in a helper takes this for an error of its own."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises Slow in the block after so many seconds of processor time, or many times as long of waiting."""

    def stop(*_: Any) -> None:
        raise Slow(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop), signal.signal(signal.SIGPROF, stop)
    signal.alarm(seconds * _WAITS)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGPROF, before[1])


def isolated(items: Sequence[Any], work: Callable[[Any], Result], dead: str) -> list[Result]:
    """``work`` for each item in another process. An item that ends it, or is too slow, has the status ``dead``; the
    others go on.
    """
    results: list[Result] = []
    while len(results) < len(items):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _work(items[len(results) :], work, dead, writer)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as lines:
            for line in lines:
                status, _, why = line.rstrip("\n").partition("\t")
                results.append((status, why))
        os.waitpid(child, 0)
        if len(results) < len(items):
            results.append((dead, "the process ended"))
    return results


def _work(items: Sequence[Any], work: Callable[[Any], Result], dead: str, writer: int) -> None:
    """The life of such a process: a line for each item. It does not return."""
    with os.fdopen(writer, "w", encoding="utf-8") as out:
        for item in items:
            try:
                status, why = work(item)
            except Slow as error:
                status, why = dead, str(error)
            out.write(f"{status}\t{' '.join(why.split())[:300]}\n")
            out.flush()
    os._exit(0)
