"""Which test runs which function of the helpers: the record by which a mutation run chooses its tests.

A function is written as its module and the path of its name, ``compat.functions.pooling:max_pooling_nd``; one of the
module of helpers that a migrated program gets, where its own module is not known, as ``:max_pooling_nd``.

    python -m tests.support.helper_calls RECORD.json [TEST FILE OR FOLDER...]

A test that starts processes of its own is recorded by what it does in the process of pytest alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "tests/compat", ROOT / "tests/native"]
_TOOL = str(ROOT / "chainer2torch") + "/"
_OWN = (f"{_TOOL}compat/", f"{_TOOL}native/")
_LONG = "faithful_"  # what stands before a long helper's name where a short one has the name, too


class Calls:
    """A plugin of pytest that writes down, for each test, its seconds and the functions of helpers that it calls."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, list[str]]] = {}
        self._names: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Traces calls while the test, its fixtures included, runs."""
        self._names, started = set(), time.process_time()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
        seconds = time.process_time() - started
        self._names = {name for name in self._names if not name.endswith(">")}  # modules, comprehensions
        if self._names:
            self.found[item.nodeid] = round(seconds, 3), sorted(self._names)

    def _call(self, frame: FrameType, event: str, value: object) -> None:
        code = frame.f_code
        if code.co_filename.startswith(_OWN):
            room = code.co_filename.removeprefix(_TOOL).removesuffix(".py").replace("/", ".")
            self._names.add(f"{room}:{code.co_qualname}")
        elif "chainer_compat" in code.co_filename:
            self._names.add(f":{code.co_qualname.removeprefix(_LONG)}")


def read(path: Path) -> dict[str, tuple[float, frozenset[str]]]:
    """A record: the seconds of each test and the paths of the names of what it calls."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return {test: (seconds, frozenset(names)) for test, (seconds, names) in found.items()}


def record(tests: Sequence[Path]) -> dict[str, tuple[float, list[str]]]:
    """Runs the tests of some files or folders once."""
    calls = Calls()
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    pytest.main([*options, *map(str, tests)], plugins=[calls])
    return calls.found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.helper_calls", description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("tests", nargs="*", type=Path, default=FOLDERS)
    args = parser.parse_args()
    found = record(args.tests)
    args.record.write_text(json.dumps(found), encoding="utf-8")
    print(
        f"{len(found)} tests call {len({name for _, names in found.values() for name in names})} functions of helpers"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
