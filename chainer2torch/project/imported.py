"""What files that were named one by one import from their own project: kinds come from there."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path

from chainer2torch.project import candidates, files, notebooks
from chainer2torch.project.files import FileError


def add_imported(base: Path, raws: dict[str, bytes]) -> None:
    """Adds the modules under ``base`` that the files import, directly or not, with the packages they lie in."""
    stack = list(raws) if any(candidates.mentions_chainer(raw) for raw in raws.values()) else []
    while stack:
        relative = stack.pop()
        raw = notebooks.plain(raws[relative]) if notebooks.is_notebook(relative) else raws[relative]
        for key in sorted(set(_wanted(relative, raw)) - raws.keys()):
            if (base / key).is_file():
                try:
                    raws[key] = files.read(base / key)
                except FileError:
                    continue
                stack.append(key)


def _wanted(relative: str, raw: bytes) -> Iterator[str]:
    """The files that an import may mean: rather too many than too few."""
    folder = posixpath.dirname(relative)
    for name in map(os.fsdecode, candidates.imported_words(raw)):
        for path in {name, posixpath.join(folder, name)}:
            yield from (f"{path}.py", f"{path}/__init__.py")
    for level, dotted in candidates.imported_modules(raw):
        start = folder
        for _ in range(level - 1):
            start = posixpath.dirname(start)
        for above in {start} if level else {"", folder}:
            path = posixpath.join(above, dotted)
            yield from (f"{path}.py", f"{path}/__init__.py")
