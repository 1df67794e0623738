"""Files of Chainer's that git ignores: a migration copies them and leaves them Chainer, which has to be said.

What a file that is migrated imports is a part of the program all the same: git ignores no file that it has, and where
the files came without their repository nobody else can tell.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from chainer2torch.project import files
from chainer2torch.project.files import Entry, FileError
from chainer2torch.project.visible import visible

_NAMED = 5  # files that a note lists
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t(]+([\w, \t]+)|import[ \t]+([.\w]+))", re.M)
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


def imported(entries: Iterable[Entry], ignored: Callable[[str], bool]) -> frozenset[str]:
    """The ignored files with Chainer that the other files import, themselves or through each other."""
    entries = list(entries)
    hidden = set(find(entries, ignored))
    if not hidden:
        return frozenset()
    paths = {entry.relative: entry.path for entry in entries if entry.python}
    found: set[str] = set()
    waiting = [path for path in paths if not ignored(path)]
    while waiting:
        path = waiting.pop()
        try:
            new = set(_imports(path, files.read(paths[path]))) & hidden - found
        except FileError:
            continue
        found |= new
        waiting += sorted(new)
    return frozenset(found)


def _imports(path: str, raw: bytes) -> Iterator[str]:
    """The files that a file may import: beside it, or from one of the folders above it on."""
    folders = [posixpath.dirname(path)]
    while folders[-1]:
        folders.append(posixpath.dirname(folders[-1]))
    for said in _IMPORT.finditer(raw):
        module, names = (said[1] or said[3]).decode(), (said[2] or b"").decode()
        tail = module.lstrip(".").replace(".", "/")
        for name in ["", *re.findall(r"\w+", names)]:
            for folder in folders:
                file = posixpath.join(folder, tail, name).rstrip("/")
                yield from (f"{file}.py", f"{file}/__init__.py")


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
