"""What Chainer's side gave in earlier runs: a second run of ``verify models`` needs PyTorch's alone.

A key stands for everything that decides what a case gives: the files of the original, the interpreter with all that is
installed for it, this tool, and the case itself with its seed and its inputs. Whatever changes makes another key, so
nothing is ever out of date. The folder is safe to delete; an entry that is not whole is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.project import result_cache

_FOLDER = "verify"
_RECORD = "record.json"
# Larger files of a project count by their size and time.
_READ = 4_000_000
# An entry that is larger is not kept; what is kept altogether.
_MOST_OF_ONE, _MOST = 100_000_000, 2_000_000_000
_LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", ".venv", "node_modules"})
# What the worker died of, or lacked, may be otherwise the next time.
_PASSING = frozenset({"WorkerDied", "MemoryError"})
# What is installed: the names in the folders of imports hold the versions.
_ABOUT = """
import os, platform, sys
print(sys.version, os.path.realpath(sys.executable), platform.platform(), platform.machine())
for folder in sorted(set(sys.path)):
    if folder and os.path.isdir(folder):
        print(folder, sorted(name for name in os.listdir(folder) if name != "__pycache__"))
for name in ("chainer", "numpy"):
    for folder in sys.path:
        path = os.path.join(folder, name, "_version.py" if name == "chainer" else "version.py")
        if os.path.isfile(path):
            print(name, path, os.stat(path).st_mtime, os.stat(path).st_size)
            break
"""


class Kept:
    """Records and arrays by case, for one original and one interpreter."""

    def __init__(self, folder: Path, about: str):
        self._folder = folder / _FOLDER
        self._about = about

    def key(self, *parts: Any, arrays: Mapping[str, Any] | None = None) -> str:
        """The key of a case: plain data, and the arrays that it is given."""
        found = hashlib.sha256(f"{self._about}\0{json.dumps(parts, sort_keys=True, default=str)}".encode())
        for name, array in sorted((arrays or {}).items()):
            found.update(f"\0{name} {array.dtype} {array.shape}\0".encode())
            found.update(array.tobytes())
        return found.hexdigest()

    def get(self, key: str, into: Path) -> dict[str, Any] | None:
        """The record of a case, with its files in ``into``; None where it is not kept, or broken."""
        entry = self._place(key)
        try:
            data = json.loads((entry / _RECORD).read_text(encoding="utf-8"))
            for name, checksum in data["files"].items():
                if _sum(entry / name) != checksum:
                    return None
            for name in data["files"]:
                shutil.copyfile(entry / name, into / name)
            os.utime(entry)
            record = data["record"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return record if isinstance(record, dict) else None

    def put(self, key: str, record: Mapping[str, Any], files: Iterable[Path] = ()) -> None:
        """Keeps a record with its files, unless it is of the moment or large; nobody ever sees a part of it."""
        files = [path for path in files if path.is_file()]
        if is_passing(record) or sum(path.stat().st_size for path in files) > _MOST_OF_ONE:
            return
        entry = self._place(key)
        with contextlib.suppress(OSError):
            entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = Path(tempfile.mkdtemp(dir=entry.parent))
            try:
                for path in files:
                    shutil.copyfile(path, new / path.name)
                data = {"record": record, "files": {path.name: _sum(path) for path in files}}
                (new / _RECORD).write_text(json.dumps(data), encoding="utf-8")
                shutil.rmtree(entry, ignore_errors=True)
                new.rename(entry)
            finally:
                shutil.rmtree(new, ignore_errors=True)

    def thin_out(self) -> None:
        """Lets the entries go that were not used for the longest time, where all are too large."""
        with contextlib.suppress(OSError):
            entries = sorted(self._folder.glob("*/*"), key=lambda entry: entry.stat().st_mtime, reverse=True)
            total = 0
            for entry in entries:
                total += sum(path.stat().st_size for path in entry.iterdir())
                if total > _MOST:
                    shutil.rmtree(entry, ignore_errors=True)

    def _place(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]


def is_passing(record: Mapping[str, Any]) -> bool:
    """Whether a record says something of the moment: a time that was up, a worker that died."""
    return bool(record.get("provisional") or record.get("in_haste") or record.get("type") in _PASSING)


def kept(folder: Path | None, src: Path, python: str | None) -> Kept | None:
    """What is kept for an original and an interpreter; None for no folder, or where the interpreter does not answer."""
    if folder is None:
        return None
    try:
        about = about_interpreter(python)
    except (OSError, subprocess.SubprocessError):
        return None
    return Kept(folder, "\0".join([about, result_cache.version_of_all(()), _environment(), digest(src)]))


def about_interpreter(python: str | None) -> str:
    """An interpreter and what is installed for it."""
    done = subprocess.run(
        [python or sys.executable, "-c", _ABOUT], stdout=subprocess.PIPE, timeout=60, check=True, cwd=os.path.sep
    )
    return f"{platform.node()} {done.stdout.decode(errors='replace')}"


def _environment() -> str:
    return repr(sorted(item for item in os.environ.items() if item[0].startswith(("CHAINER_", "OMP_", "PYTHONPATH"))))


def digest(src: Path) -> str:
    """What stands for the files of a project."""
    found = hashlib.sha256()
    for path in _files(src):
        relative = path.relative_to(src).as_posix()
        with contextlib.suppress(OSError):
            about = path.stat()
            content = path.read_bytes() if about.st_size <= _READ else f"{about.st_size} {about.st_mtime_ns}".encode()
            found.update(f"\0{relative}\0{len(content)}\0".encode("utf-8", "surrogatepass"))
            found.update(content)
    return found.hexdigest()


def _files(src: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(src):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in sorted(names):
            # Its tables are parts of the cases.
            if not name.endswith(".pyc") and (name != "pyproject.toml" or Path(place) != src):
                yield Path(place, name)


def _sum(path: Path) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            found.update(block)
    return found.hexdigest()
