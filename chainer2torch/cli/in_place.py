"""What --write needs before anything is read: the folders for itself, and an end of what killed runs had begun."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import click

from chainer2torch.cli.errors import Failure
from chainer2torch.project import transaction
from chainer2torch.project.files import FileError
from chainer2torch.project.scan import base_of
from chainer2torch.project.visible import visible


def alone(paths: Sequence[Path]) -> AbstractContextManager[None]:
    """Locks the folders that are migrated in place, and those above them in which a run was killed."""
    bases = [base_of(path) for path in paths if path.exists()]
    return transaction.locked([folder for base in bases for folder in (base, *transaction.interrupted(base))])


def finished(folders: Sequence[Path], writing: bool) -> list[FileError]:
    """Finishes what killed runs had begun in these folders, and says so; Failure for a run that only reads."""
    if not writing:
        with transaction.locked(folders):  # else it is still at work, and that is said
            raise Failure(
                f"{folders[0]}: `chainer2torch migrate --write` was killed here while it replaced files; run it again: "
                "it finishes that, or takes it back"
            )
    problems = []
    for folder in folders:
        problems += transaction.recover(folder)
        click.echo(
            f"chainer2torch: {visible(str(folder))}: an interrupted --write was finished or taken back", err=True
        )
    return problems
