"""What is still to do in a migrated copy: the comments that are left in it, by what one action settles."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

from chainer2torch.project import files

_MARKER = re.compile(r"^[ \t]*# TODO\(chainer2torch (C2T\d{3})\): (.*)$")
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:chainer|chainermn|cupy)\b", re.MULTILINE)
_STATES = {"manual": 0, "review": 1}


@dataclasses.dataclass(frozen=True)
class Place:
    """A comment: its file, and the line of the code below it."""

    path: str
    line: int


@dataclasses.dataclass(frozen=True)
class Task:
    """Comments that say the same."""

    code: str
    text: str
    state: str
    places: tuple[Place, ...]


def importing(out: Path, paths: Iterable[str]) -> list[str]:
    """The files of the copy that still import Chainer, as they are now."""
    return [path for path in paths if _IMPORT.search(_text(out, path))]


def _text(out: Path, path: str) -> str:
    try:
        return files.decode(files.read(out / path), path).text
    except files.FileError:
        return ""


def tasks(out: Path, paths: Iterable[str], manual: set[tuple[str, str]]) -> list[Task]:
    """What the comments in the copy say, what does not run yet first, then what settles the most places.

    ``manual`` has the code and the symbol of what was left as Chainer code.
    """
    found: dict[tuple[str, str], list[Place]] = {}
    for path in paths:
        text = _text(out, path)
        if "TODO(chainer2torch" in text:
            for code, said, line in _comments(text.splitlines()):
                found.setdefault((code, said), []).append(Place(path, line))
    made = [
        Task(code, said, "manual" if (code, said.split(": ", 1)[0]) in manual else "review", tuple(places))
        for (code, said), places in found.items()
    ]
    return sorted(made, key=lambda task: (_STATES[task.state], -len(task.places), task.places[0].path))


def _comments(lines: list[str]) -> Iterable[tuple[str, str, int]]:
    for number, line in enumerate(lines):
        match = _MARKER.match(line)
        if match is not None:
            below = number + 1
            while below < len(lines) and _MARKER.match(lines[below]):
                below += 1
            yield match[1], match[2].strip(), min(below, len(lines) - 1) + 1
