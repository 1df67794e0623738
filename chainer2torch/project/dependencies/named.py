"""Which dependency files name Chainer at all: decided on names and bytes, before anything heavier is imported."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from chainer2torch.project import files
from chainer2torch.project.files import Entry, FileError
from chainer2torch.project.tree import Tree

_MENTIONS = re.compile(rb"(?i)chainer|cupy")


def kind_of(path: str) -> str | None:
    """What kind of dependency file a path is, by its name: pip, cfg, toml, conda; None: it is none."""
    folder, name = posixpath.split(path)
    if name.endswith((".txt", ".in")) and (
        "requirements" in name or name.startswith("constraints") or posixpath.basename(folder) == "requirements"
    ):
        return "pip"
    if name in ("pyproject.toml", "Pipfile"):
        return "toml"
    if re.fullmatch(r"(?:environment|conda)[\w.-]*\.ya?ml", name):
        return "conda"
    return "cfg" if name == "setup.cfg" else None


def dependency_files(tree: Tree, problems: list[FileError]) -> Iterator[tuple[Entry, str, bytes]]:
    """The dependency files of a tree that name Chainer or CuPy, with their kinds and what is in them."""
    for entry in tree.entries:
        kind = kind_of(entry.relative)
        if kind is None or entry.kind != "file" or tree.left_out(entry.relative):
            continue
        try:
            raw = files.read(entry.path)
        except FileError as error:
            problems.append(error)
            continue
        if _MENTIONS.search(raw):
            yield entry, kind, raw
