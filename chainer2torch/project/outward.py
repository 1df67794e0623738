"""Links that lead out of the tree: a copy of the tree holds them as they are, and what is behind them is not in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from chainer2torch.project.files import Entry
from chainer2torch.project.visible import visible

_NAMED = 5  # links that a note lists


def notes(base: Path, shown: str, entries: Iterable[Entry]) -> list[str]:
    """The note about the links of a folder that lead out of it, or to the folder by its full name, or nowhere."""
    found = [visible(f"{shown}{entry.relative} -> {target}") for entry, target in _outward(base, entries)]
    if not found:
        return []
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    one = len(found) == 1
    lead = "1 link leads" if one else f"{len(found)} links lead"
    stay = "stays as it is" if one else "stay as they are"
    return [f"{lead} out of the folder and {stay}; what is behind was not read: {', '.join(found[:_NAMED])}{more}"]


def _outward(base: Path, entries: Iterable[Entry]) -> Iterator[tuple[Entry, str]]:
    root = ""
    for entry in entries:
        if entry.kind != "link":
            continue
        root = root or os.path.realpath(base)
        target = os.readlink(entry.path)
        real = os.path.realpath(entry.path)
        if os.path.isabs(target) or not (real == root or real.startswith(root + os.sep)):
            yield entry, target
