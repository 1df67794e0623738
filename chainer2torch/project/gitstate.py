"""Asks git whether files have changes that are not committed: what --write would put beyond recovery."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path


def uncommitted(paths: Iterable[Path]) -> list[Path]:
    """Those of ``paths`` that lie in a git work tree and are modified, staged or not tracked at all.

    Files outside any repository are not returned: there is no history to compare with. Raises RuntimeError when a
    repository is there and git cannot say (git missing, ownership not trusted).
    """
    by_repository: dict[Path, list[Path]] = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        top = next((folder for folder in real.parents if (folder / ".git").exists()), None)
        if top is not None and real.exists():
            by_repository.setdefault(top, []).append(real)
    found: list[Path] = []
    for top, members in by_repository.items():
        dirty = _status(top)
        found.extend(path for path in members if path.relative_to(top).as_posix() in dirty)
    return sorted(found)


def _status(top: Path) -> frozenset[str]:
    # The whole repository in one call: a command line with thousands of file names would not fit.
    command = [
        "git",
        "-C",
        str(top),
        "--no-optional-locks",
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
        "--no-renames",
    ]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{top} is a git repository, but git cannot be run: {error}") from None
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(f"{top}: git status failed: {message[0] if message else done.returncode}")
    return frozenset(os.fsdecode(item[3:]) for item in done.stdout.split(b"\0") if item)
