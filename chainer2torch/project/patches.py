"""What a run would change, as a unified diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator

from chainer2torch.project import notebooks
from chainer2torch.project.output import Change
from chainer2torch.project.visible import quoted, visible


def patch(wanted: Iterable[Change], brief: bool = False) -> Iterator[bytes]:
    """A unified diff that `git apply` and `patch -p1` take; of notebooks a diff of each cell, to read.

    Lines are bytes: those of a file in another encoding stay in it, else nothing could be applied. With ``brief`` (for
    a terminal) a line stands for each module of helpers, which nobody reads as a patch.
    """
    for change in wanted:
        source = change.tree.sources.get(change.relative)
        if isinstance(source, notebooks.Notebook):
            yield from _cells_patch(change, source)
            continue
        shown = change.tree.show(change.relative).lstrip("/")
        if brief and change.is_helpers:
            yield _summary(change, shown)
            continue
        before = "/dev/null" if change.old is None else quoted(f"a/{shown}")
        yield from _diff(change.old or b"", change.new, before, quoted(f"b/{shown}"))


def _summary(change: Change, shown: str) -> bytes:
    """A comment in a patch, which `git apply` and `patch` pass over."""
    count = change.new.count(b"\n")
    what = "new" if change.old is None else "changed"
    return f"# {visible(shown)}: {what}, {count} lines of helpers (in a pipe they are shown, too)\n".encode()


def _cells_patch(change: Change, notebook: notebooks.Notebook) -> Iterator[bytes]:
    shown = change.tree.show(change.relative).lstrip("/")
    new = notebooks.read(change.new, change.source)
    for before, after in zip(notebook.cells, new.cells):
        name = f"{shown}:cell {before.number}"
        texts = (_ended(before.source).encode(), _ended(after.source).encode())
        yield from _diff(*texts, quoted(f"a/{name}"), quoted(f"b/{name}"))


def _ended(text: str) -> str:
    """A cell's last line has no end, which says nothing."""
    return text + "\n" if text and not text.endswith("\n") else text


def _diff(old: bytes, new: bytes, before: str, after: str) -> Iterator[bytes]:
    for line in difflib.diff_bytes(difflib.unified_diff, _lines(old), _lines(new), before.encode(), after.encode()):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[bytes]:
    """The lines as diff and git count them: a form feed or a lone carriage return ends none."""
    return [line for line in re.split(rb"(?<=\n)", data) if line]
