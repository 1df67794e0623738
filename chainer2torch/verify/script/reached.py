"""Which files of a tree a script may run: how a script reads its data says nothing of the other programs beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_IMPORT = re.compile(rb"^[ \t\"]*(?:from|import)\b(?:[^(\n]*\([^)]*\)|[^\n]*)", re.MULTILINE)
_WORD = re.compile(rb"\w+")
_BY_NAME = re.compile(rb"\bimport_module\(|\b__import__\(|\bimp\.|\brunpy\.|\bsubprocess\.|\bos\.system\(|\bexec\(")


def texts(files: Mapping[Path, bytes], script: Path, words: Sequence[str] = ()) -> list[bytes]:
    """The texts of ``script`` and of the files that its imports lead to, by the last part of their names.

    ``words`` are its arguments, which may name modules. Where a reached file imports by a computed name, all texts.
    """
    if script not in files:
        return list(files.values())
    by_name: dict[str, list[Path]] = {}
    for path in files:
        by_name.setdefault(path.parent.name if path.stem == "__init__" else path.stem, []).append(path)
    found: dict[Path, bytes] = {}
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = files[path]
        if _BY_NAME.search(files[path]):
            return list(files.values())
        waiting += _of_names(_imported(files[path]), by_name)
        if path == script:
            waiting += _of_names({part for word in words for part in re.split(r"\W+", word)}, by_name)
    return list(found.values())


def _imported(text: bytes) -> set[str]:
    return {word.decode(errors="replace") for line in _IMPORT.findall(text) for word in _WORD.findall(line)}


def _of_names(names: Iterable[str], by_name: Mapping[str, list[Path]]) -> list[Path]:
    return [path for name in sorted(names) for path in by_name.get(name, ())]
