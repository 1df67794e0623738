"""What the calls of ``port`` remember of each other: a JSON file in the migrated copy."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from chainer2torch.project import files

NAME = ".chainer2torch-port.json"
_VERSION = 1


class StateError(Exception):
    """The file cannot be read; the message says what to do."""


@dataclasses.dataclass
class State:
    """``written`` has for each file that was written the digests that it may have when nobody has changed it.

    ``checks`` are the results of comparisons by what was compared, each with a digest of the files that it is about.
    ``first`` is how many comments there were to work through at the beginning.
    """

    written: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    checks: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    first: int | None = None

    def save(self, out: Path) -> None:
        """Writes the file."""
        document = {"version": _VERSION, **dataclasses.asdict(self)}
        files.write_atomic(out / NAME, (json.dumps(document, indent=1, sort_keys=True) + "\n").encode())


def load(out: Path) -> State | None:
    """What earlier calls remember of a folder; None where there was none."""
    path = out / NAME
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_bytes())
        if document.pop("version") != _VERSION:
            raise ValueError("another version of chainer2torch wrote it")
        return State(**document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(
            f"{path}: cannot be read ({error}); take it away to begin again (--force then writes over the copy)"
        ) from None


def digest(data: bytes) -> str:
    """The digest of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def digest_of_python(*folders: Path) -> str:
    """One digest of all Python files below some folders: what was compared is as it was while it is the same."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            if path.is_file():
                found.update(path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape") + b"\0")
                found.update(digest(path.read_bytes()).encode())
    return found.hexdigest()
