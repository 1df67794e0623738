"""Writes the migrated copy: all of it at first, and afterwards only what nobody has changed in it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable
from pathlib import Path

from chainer2torch.port.state import State, digest
from chainer2torch.project import files, output
from chainer2torch.project.files import FileError
from chainer2torch.project.output import Change
from chainer2torch.project.scan import Project


@dataclasses.dataclass(frozen=True)
class Written:
    """How many files were written, and which were left because a person has changed them.

    ``behind`` are those of the latter whose source has changed as well: the person has to take that over.
    """

    count: int
    edited: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


def write(
    project: Project, changes: Iterable[Change], out: Path, state: State | None, force: bool
) -> tuple[Written, State]:
    """Writes the copy of the one folder of a project, and what is remembered of it."""
    (tree,) = project.trees
    wanted = {change.relative: change for change in changes}
    new = {change.relative: change.new for change in wanted.values() if change.relative not in tree.broken}
    for entry in tree.entries:
        if entry.kind == "file" and entry.python and entry.relative not in new:
            with contextlib.suppress(FileError):  # it is one of the problems already
                new[entry.relative] = files.read(entry.path)
    if state is None:
        state = State({path: [digest(data)] for path, data in new.items()})
        output.write_out(project, wanted.values(), out, force)
        state.save(out)
        return Written(len(wanted)), state
    before = state.written
    # both digests, until all is written: a run that is killed here is gone on with
    state.written = {**before, **{path: [*before.get(path, []), digest(data)] for path, data in new.items()}}
    state.save(out)
    count, edited, behind = 0, [], []
    like = {entry.relative: entry.path for entry in tree.entries}
    for path, data in sorted(new.items()):
        target = out / path
        known = before.get(path, [])
        if target.is_file() and digest(present := target.read_bytes()) not in (*known, digest(data)):
            edited.append(path)
            if known and digest(data) not in known and present != data:
                behind.append(path)
            continue
        try:
            count += files.write_atomic(target, data, like=like.get(path))
            known = []
        except FileError as error:
            project.problems.append(error)
        state.written[path] = [*known, digest(data)]
    for path in edited:
        state.written[path] = list(dict.fromkeys([*before.get(path, []), digest(new[path])]))
    for entry in tree.entries:
        target = out / entry.relative
        if (
            entry.kind in ("file", "link")
            and entry.relative not in new
            and not (target.exists() or target.is_symlink())
        ):
            files.copy(entry, target)
    state.save(out)
    return Written(count, tuple(edited), tuple(behind)), state
