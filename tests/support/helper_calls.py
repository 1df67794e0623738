"""Which test runs which function and line of the helpers: the record by which a mutation run chooses its tests.

A function is written as its module and the path of its name, ``compat.functions.pooling:max_pooling_nd``; one of the
module of helpers that a migrated program gets, where its own module is not known, as ``:max_pooling_nd``. Lines are
those of the modules below ``compat`` and ``native``.

    python -m tests.support.helper_calls RECORD.json [TEST FILE OR FOLDER...]

What a record that is there already says of other tests stays. Processes that are forked by ``multiprocessing`` count
as the test's own; those that start Python anew do not.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import multiprocessing.util
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import pytest

from tests.support import rank_processes

_IMPORTS = re.compile(r"^from chainer2torch\.(compat|native)\b", re.MULTILINE)
ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = [ROOT / "tests" / folder for folder in ("compat", "native", "plan/native", "programs", "weights")]
# and what of the engine's tests imports helpers
_ENGINE = [path for path in sorted((ROOT / "tests/engine").glob("*.py")) if _IMPORTS.search(path.read_text("utf-8"))]
FOLDERS = [*_FOLDERS, *_ENGINE]
_TOOL = str(ROOT / "chainer2torch") + "/"
_OWN = (f"{_TOOL}compat/", f"{_TOOL}native/")
_LONG = "faithful_"  # what stands before a long helper's name where a short one has the name, too


@dataclasses.dataclass(frozen=True)
class Called:
    """What one test calls: its seconds of processor time, the paths of the functions' names, and lines by modules."""

    seconds: float = 0.0
    names: frozenset[str] = frozenset()
    lines: Mapping[str, frozenset[int]] = dataclasses.field(default_factory=dict)


class Calls:
    """A plugin of pytest that writes down what each test calls of the helpers."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[str, Called] = {}
        self._names: set[str] = set()
        self._lines: dict[str, set[int]] = {}
        self._folder = folder  # where forked processes leave what they have called
        multiprocessing.util.register_after_fork(self, Calls._in_child)

    def _in_child(self) -> None:
        self._names.clear()
        self._lines.clear()
        multiprocessing.util.Finalize(None, self._leave, exitpriority=0)

    def _leave(self) -> None:
        sys.settrace(None)
        lines = {room: sorted(lines) for room, lines in self._lines.items()}
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps([sorted(self._names), lines]), encoding="utf-8")

    def _fetch(self) -> None:
        """Adds what forked processes have left."""
        for path in self._folder.glob("*.json"):
            names, lines = json.loads(path.read_text(encoding="utf-8"))
            path.unlink()
            self._names.update(names)
            for room, those in lines.items():
                self._lines.setdefault(room, set()).update(those)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Traces calls while the test, its fixtures included, runs."""
        self._names, self._lines, started = set(), {}, time.process_time()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
        seconds = time.process_time() - started
        self._fetch()
        names = frozenset(name for name in self._names if not name.endswith(">"))  # modules, comprehensions
        if names:
            lines = {room: frozenset(lines) for room, lines in self._lines.items()}
            self.found[item.nodeid] = Called(round(seconds, 3), names, lines)

    def _call(self, frame: FrameType, event: str, value: object) -> Callable[..., Any] | None:
        code = frame.f_code
        if code.co_filename.startswith(_OWN):
            room = code.co_filename.removeprefix(_TOOL).removesuffix(".py").replace("/", ".")
            self._names.add(f"{room}:{code.co_qualname}")
            return self._line(self._lines.setdefault(room, set()))
        if "chainer_compat" in code.co_filename:
            self._names.add(f":{code.co_qualname.removeprefix(_LONG)}")
        return None

    def _line(self, lines: set[int]) -> Callable[..., Any]:
        def trace(frame: FrameType, event: str, value: object) -> Callable[..., Any]:
            if event == "line":
                lines.add(frame.f_lineno)
            return trace

        return trace


def read(path: Path) -> dict[str, Called]:
    """A record that was written."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        test: Called(seconds, frozenset(names), {room: frozenset(those) for room, those in lines.items()})
        for test, (seconds, names, lines) in found.items()
    }


def write(path: Path, found: Mapping[str, Called]) -> None:
    """Writes a record."""
    plain = {
        test: (one.seconds, sorted(one.names), {room: sorted(lines) for room, lines in one.lines.items()})
        for test, one in found.items()
    }
    path.write_text(json.dumps(plain), encoding="utf-8")


def record(tests: Sequence[Path]) -> dict[str, Called]:
    """Runs the tests of some files or folders once."""
    options = ["-q", "-p", "no:xdist", "-m", "not slow"]
    fork = multiprocessing.get_context("fork")  # a server that was started before would not be traced
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(rank_processes, "_CONTEXT", fork):
        calls = Calls(Path(folder))
        pytest.main([*options, *map(str, tests)], plugins=[calls])
    return calls.found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.helper_calls", description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("tests", nargs="*", type=Path, default=FOLDERS)
    args = parser.parse_args()
    found = record(args.tests)
    write(args.record, {**(read(args.record) if args.record.exists() else {}), **found})
    print(f"{len(found)} tests call {len({name for one in found.values() for name in one.names})} functions of helpers")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
