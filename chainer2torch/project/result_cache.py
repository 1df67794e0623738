"""What earlier runs have found, in a folder of the user: see analysis/memory.py for what a key stands for.

The folder can be deleted, copied and shared between processes at any time. Each entry is a file of its own, which comes
into being complete and begins with the sum of its own bytes: one that is broken is none. It is JSON, never anything
that runs. It is not in the project: an untrusted repository cannot bring one along, and no run changes its folders.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from chainer2torch.rules.resources import rules_dir

_MOST = 20_000  # entries; then the half that was not read for the longest time goes
_README = "# Made by chainer2torch, and safe to delete.\n*\n"


def default_folder() -> Path | None:
    """Where results are kept: $CHAINER2TORCH_CACHE_DIR (empty: nowhere), else in the user's folder for caches."""
    chosen = os.environ.get("CHAINER2TORCH_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    name = "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
    base = os.environ.get(name, "")
    if base and os.path.isabs(base):
        return Path(base, "chainer2torch")
    home = os.path.expanduser("~")
    return Path(home, ".cache", "chainer2torch") if os.path.isabs(home) and os.path.isdir(home) else None


def version_of_all(rule_dirs: Iterable[Path]) -> str:
    """What stands for everything that decides beside a project: the tool, its rules, those of the user, and Python."""
    found = hashlib.sha256(f"{sys.version} {sys.getrecursionlimit()} {_libcst()}".encode())
    for folder, endings in [(Path(__file__).parents[1], (".py", ".toml")), (rules_dir(), (".toml",))] + [
        (folder, (".toml",)) for folder in rule_dirs
    ]:
        for name in sorted(_below(str(folder), "", endings)):
            found.update(f"\0{name}\0".encode("utf-8", "surrogatepass"))
            with open(f"{folder}{os.sep}{name}", "rb") as file:
                found.update(file.read())
    return found.hexdigest()


def _libcst() -> str:
    """The version of LibCST: from the name of the folder that describes it, which is found in less time."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or os.curdir)
        except OSError:
            continue
        found = [name for name in names if name.startswith("libcst-") and name.endswith(".dist-info")]
        if found:
            return " ".join(sorted(found))
    import importlib.metadata

    try:
        return importlib.metadata.version("libcst")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _below(folder: str, inside: str, endings: tuple[str, ...]) -> Iterable[str]:
    """The files in a folder with these endings, by their paths in it; ``inside`` is "" or ends in a separator."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:  # who reads the tables says that there is no such folder
        return
    for entry in entries:
        if not entry.is_dir():
            if entry.name.endswith(endings):
                yield inside + entry.name
        elif not entry.is_symlink():
            yield from _below(entry.path, f"{inside}{entry.name}{os.sep}", endings)


class ResultCache:
    """Values by keys in a folder. What cannot be read or written is as if it were not kept."""

    def __init__(self, folder: Path, version: str):
        self._folder = folder
        self._version = version

    def get(self, key: str) -> Any:
        """The value that was put under a key; None: there is none, or it is broken."""
        path = self._path(key)
        try:
            checksum, _, data = path.read_bytes().partition(b"\n")
            if hashlib.sha256(data).hexdigest().encode() != checksum:
                return None
            with contextlib.suppress(OSError):
                os.utime(path)
            return json.loads(data)
        except (OSError, ValueError, RecursionError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Keeps a value; nobody ever sees a part of it."""
        data = json.dumps(value).encode()
        path = self._path(key)
        with contextlib.suppress(OSError):
            self._begin(path.parent)
            handle, name = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
                os.replace(name, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(name)
                raise
            self._thin_out(path.parent)

    def _path(self, key: str) -> Path:
        found = hashlib.sha256(f"{self._version} {key}".encode()).hexdigest()
        return self._folder / found[:2] / found[2:]

    def _begin(self, folder: Path) -> None:
        if not folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True)
            for name, text in (
                (".gitignore", _README),
                ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
            ):
                if not (self._folder / name).exists():
                    (self._folder / name).write_text(text)

    def _thin_out(self, folder: Path) -> None:
        """One of the 256 folders has about the share of entries that all of them have."""
        entries = list(os.scandir(folder))
        if len(entries) > _MOST / 256:
            for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime)[: len(entries) // 2]:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


__all__ = ["ResultCache", "default_folder", "version_of_all"]
