"""What the settings files of a project say: programs take the names of optimizers and the like from them."""

from __future__ import annotations

import re

from chainer2torch.project.tree import Tree

_SUFFIXES = frozenset({".yml", ".yaml", ".json", ".toml", ".ini", ".cfg", ".conf"})
_LARGEST = 100_000  # bytes; what is larger holds data
_MOST = 2_000  # files
_WORD = re.compile(r"[^\W\d]\w*")


def words_of_settings(tree: Tree) -> frozenset[str]:
    """All words of the settings files in a tree; none where the tree is single files."""
    paths = [entry.path for entry in tree.entries if entry.kind == "file" and entry.path.suffix in _SUFFIXES]
    found: set[str] = set()
    for path in paths if len(paths) <= _MOST else ():
        try:
            if path.stat().st_size <= _LARGEST:
                found.update(_WORD.findall(path.read_text(encoding="utf-8", errors="replace")))
        except OSError:  # the copy of the tree reports it
            return frozenset()
    return frozenset(found)


__all__ = ["words_of_settings"]
