"""Decides on bytes which files can have to do with Chainer: nothing else is ever parsed."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping

from chainer2torch.python2.suspects import is_python2

_NAMES = re.compile(rb"chainer|cupy")
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import\b[ \t]*(\([^)]*|[^\r\n#]*)|import[ \t]+([^\r\n#]+))", re.MULTILINE
)
_WORD = re.compile(rb"\w+")
_OF_FINDER = b"\x00\x05\x16\x07"  # how `._net.py` begins: what macOS keeps beside a file, and no Python


def mentions_chainer(raw: bytes) -> bool:
    """Whether a file can contain a Chainer (or CuPy) name."""
    return not raw.startswith(_OF_FINDER) and _NAMES.search(raw) is not None


def to_read(files: Mapping[str, bytes]) -> set[str]:
    """The files that are linked to Chainer; where there are some, also those that only Python 2 may run."""
    files = {path: raw for path, raw in files.items() if not raw.startswith(_OF_FINDER)}
    found = linked(files)
    return found and found | {path for path in files.keys() - found if is_python2(files[path])}


def around(paths: Iterable[str], files: Mapping[str, bytes]) -> set[str]:
    """The ``__init__.py`` of each folder around these files that is not among them: they make packages of folders."""
    paths, found, seen = set(paths), set[str](), set[str]()
    for path in paths:
        folder = posixpath.dirname(path)
        while folder and folder not in seen:
            seen.add(folder)
            found.add(f"{folder}/__init__.py")
            folder = posixpath.dirname(folder)
    return (found & files.keys()) - paths


def linked(files: Mapping[str, bytes]) -> set[str]:
    """The files that mention Chainer, those that import them or are imported by them, and who else imports these.

    They may use Chainer without naming it: through a re-export (``from common import F``), or because they are handed
    Chainer's objects. Who else calls what is handed them may give it NumPy's. Module names are compared by their last
    parts: rather too many files than too few.
    """
    direct = {path for path, raw in files.items() if mentions_chainer(raw)}
    if not direct:
        return direct
    imports = {path: imported_words(raw) for path, raw in files.items()}
    stems = {path: _stem(path) for path in files}
    by_stem: dict[bytes, list[str]] = {}
    for path, stem in stems.items():
        by_stem.setdefault(stem, []).append(path)
    importers: dict[bytes, list[str]] = {}
    for path, words in imports.items():
        for word in words & by_stem.keys():
            importers.setdefault(word, []).append(path)
    downwards = _closure(direct, lambda path: [found for word in imports[path] for found in by_stem.get(word, ())])
    return _closure(downwards, lambda path: importers.get(stems[path], ()))


def _closure(start: set[str], neighbours: Callable[[str], Iterable[str]]) -> set[str]:
    found, stack = set(start), list(start)
    while stack:
        for path in neighbours(stack.pop()):
            if path not in found:
                found.add(path)
                stack.append(path)
    return found


def imported_words(raw: bytes) -> set[bytes]:
    """Every part of every module and name that a file imports."""
    return {word for match in _IMPORT.finditer(raw) for part in match.groups() if part for word in _WORD.findall(part)}


def imported_modules(raw: bytes) -> set[tuple[int, str]]:
    """Every module that a file may import, and the packages that it lies in, with ``/``; and the number of dots."""
    found: set[tuple[int, str]] = set()
    for start, names, plain in _IMPORT.findall(raw):
        dots = len(start) - len(start.lstrip(b"."))
        for word in [start[dots:]] if start else plain.split(b","):
            parts = os.fsdecode(word).split(" as ")[0].strip().split(".")
            found.update((dots, "/".join(parts[:end])) for end in range(1, len(parts) + 1) if parts[0])
            below = "/".join(part for part in parts if part)
            found.update((dots, posixpath.join(below, os.fsdecode(name))) for name in _WORD.findall(names))
    return found


def _stem(path: str) -> bytes:
    name = posixpath.splitext(posixpath.basename(path))[0]
    if name == "__init__":
        name = posixpath.basename(posixpath.dirname(path))
    return name.encode("utf-8", "surrogateescape")
