"""Files of Chainer's that git ignores: a migration copies them and leaves them Chainer, which has to be said."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from chainer2torch.project import files
from chainer2torch.project.files import Entry, FileError
from chainer2torch.project.visible import visible

_NAMED = 5  # files that a note lists
_USES = re.compile(rb"\b(?:import|from)[ \t]+(?:chainer|cupy)")


def find(entries: Iterable[Entry], ignored: Callable[[str], bool]) -> Iterator[str]:
    """The ignored Python files that import Chainer, by their paths in the tree."""
    for entry in entries:
        if not entry.python or not ignored(entry.relative):
            continue
        try:
            raw = files.read(entry.path)
        except FileError:  # nobody asked for this file: that it cannot be read is no problem of the run
            continue
        if _USES.search(raw):
            yield entry.relative


def notes(paths: Iterable[str]) -> list[str]:
    """The note about these files, as they are shown."""
    found = [visible(path) for path in paths]
    if not found:
        return []
    named = ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
    if len(found) == 1:
        return [f"1 file uses Chainer and stays so: .gitignore names it (--no-gitignore migrates it, too): {named}"]
    which = f"{len(found)} files use Chainer and stay so: .gitignore names them"
    return [f"{which} (--no-gitignore migrates them, too): {named}"]
