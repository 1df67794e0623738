"""Which files of a tree are of version 1 of Chainer: there ``F.dropout(x)`` drops whatever the mode is."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from pathlib import Path

from chainer2torch.analysis.eras import eras
from chainer2torch.analysis.source import Source

_NAME = b"chainer"


def of_first_version(tree: Path, files: Mapping[Path, bytes]) -> list[str]:
    """The paths of these files in the tree, of those that can be read: the migration decides by the same words."""
    sources: dict[str, Source] = {}
    for path, raw in files.items():
        if _NAME in raw and path.suffix == ".py":
            try:
                text = raw.decode()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what a file of today would be warned of
                    sources[str(path.relative_to(tree))] = Source(text, ast.parse(text))
            except (SyntaxError, ValueError):
                continue
    return sorted(path for path, era in eras(sources).items() if era == 1)


__all__ = ["of_first_version"]
