"""How far a long run is, on a terminal: a line that is drawn anew now and then. Nothing in a pipe."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TextIO

Progress = Callable[[int, int], object]
_EVERY = 0.1
_REASON = 200


@contextlib.contextmanager
def shown(files: int, *, wanted: bool, stream: TextIO | None = None) -> Iterator[Progress | None]:
    """Gives a function that is told how many files are done and how many there are; None: nobody wants to see it.

    It starts no thread: the work may be divided among processes that are forked.
    """
    stream = stream or sys.stderr
    if not wanted or not stream.isatty():
        yield None
        return
    line = _Line(stream)
    line.write(f"analysing {files} files")
    try:
        yield line.done
    finally:
        line.write("")


class ReportLike(Protocol):
    """What is read of a report on models."""

    def classes(self) -> Mapping[str, str]: ...

    def reason(self, row: str) -> str: ...


@contextlib.contextmanager
def models(stream: TextIO | None = None) -> Iterator[Callable[[ReportLike, int], None]]:
    """Gives a function that says what came of each class as it is known, and on a terminal how many are left."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(file=stream or sys.stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("classes", total=None)
        shown: set[str] = set()

        def tell(report: ReportLike, left: int) -> None:
            for row, state in report.classes().items():
                if row not in shown:
                    shown.add(row)
                    why = report.reason(row) if state != "proved" else ""
                    console.print(f"{state:<12}  {row}" + (f": {why[:_REASON]}" if why else ""), soft_wrap=True)
            bar.update(task, completed=len(shown), total=len(shown) + left)

        yield tell


class _Line:
    def __init__(self, stream: TextIO) -> None:
        self.stream, self.width = stream, 0
        self.last = self.start = 0.0

    def write(self, text: str) -> None:
        """Draws the line anew."""
        self.stream.write(f"\r{text:<{self.width}}" + ("" if text else "\r"))
        self.stream.flush()
        self.width = len(text)

    def done(self, count: int, total: int) -> None:
        """Says how much of the work is done and how long the rest may take."""
        now = time.monotonic()
        if count == 1:
            self.start = now
        if now - self.last < _EVERY and count < total:
            return
        self.last = now
        left = (now - self.start) / max(count - 1, 1) * (total - count)
        self.write(f"{count} of {total} files" + (f", about {left:.0f} s left" if count > 1 and left >= 1 else ""))
