"""What is still to do in a migrated copy: the comments that are left in it, by what one action settles."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

from chainer2torch.project import files

_MARKER = re.compile(r"^[ \t]*# TODO\(chainer2torch (C2T\d{3})\): (.*)$")
# the name, which for what begins in Python has a colon of its own, and what is said of it
_SAID = re.compile(r"((?:Python 2: )?[^:]*)(?:: )?(.*)")
_NAMED = 3
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(?:chainer|chainermn|cupy)\b", re.MULTILINE)
_STATES = {"manual": 0, "review": 1}


@dataclasses.dataclass(frozen=True)
class Place:
    """A comment: its file, and the line of the code below it."""

    path: str
    line: int


@dataclasses.dataclass(frozen=True)
class Task:
    """Comments that say the same of one or more names."""

    code: str
    reason: str
    symbols: tuple[str, ...]
    state: str
    places: tuple[Place, ...]

    @property
    def text(self) -> str:
        """The names and what is said of them."""
        more = f" and {len(self.symbols) - _NAMED} more" if len(self.symbols) > _NAMED else ""
        return f"{', '.join(self.symbols[:_NAMED])}{more}: {self.reason}"


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
    found: dict[tuple[str, str], list[tuple[str, Place]]] = {}
    for path in paths:
        text = _text(out, path)
        if "TODO(chainer2torch" in text:
            for code, said, line in _comments(text.splitlines()):
                symbol, reason = _SAID.match(said).groups()  # type: ignore[union-attr]
                found.setdefault((code, reason), []).append((symbol, Place(path, line)))
    made = [
        Task(
            code,
            reason,
            tuple(dict.fromkeys(symbol for symbol, _ in said)),
            "manual" if any((code, symbol) in manual for symbol, _ in said) else "review",
            tuple(place for _, place in said),
        )
        for (code, reason), said in found.items()
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
