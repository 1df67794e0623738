"""What the options of a command and the project's pyproject.toml say together."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from chainer2torch.cli import config
from chainer2torch.cli.errors import Failure
from chainer2torch.project.scan import STDIN


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a report is compared with, and what makes its command fail: nothing left, nothing new, or a share."""

    baseline: Path | None = None
    fail_under: float | None = None
    verified: tuple[Path, ...] = ()

    def over(self, base: Goal) -> Goal:
        """This goal, with what it does not say taken from another."""
        return Goal(
            self.baseline or base.baseline,
            base.fail_under if self.fail_under is None else self.fail_under,
            self.verified,
        )


@dataclasses.dataclass(frozen=True)
class Settings:
    """The common options of a command, joined with the project's pyproject.toml."""

    rules: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    quiet: bool = False
    gitignore: bool = True
    stdin: str = "stdin.py"
    trace: Path | None = None
    chainer_version: int | None = None
    chainer_minor: int | None = None
    jobs: int = 0
    init: str = "chainer"
    only: tuple[str, ...] = ()
    style: str = "native"
    trainer: str = "ppe"
    parallel_updater: str = "ddp"
    modernize: bool = True
    self_check: bool = True
    cache: bool = True
    cache_dir: Path | None = None
    goal: Goal = Goal()


def settings(
    paths: tuple[Path, ...],
    rules: tuple[Path, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    quiet: bool,
    gitignore: bool = True,
    stdin: str = "stdin.py",
) -> Settings:
    """The command line's options on top of those of the nearest pyproject.toml."""
    if STDIN in paths and len(paths) > 1:
        raise Failure("- (the standard input) cannot be combined with other paths")
    start = Path(stdin) if paths == (STDIN,) else paths[0] if paths and paths[0].exists() else Path()
    base = config.load(start if start.is_dir() else start.parent)
    for code in (*select, *base.select, *ignore, *base.ignore):
        _known(code)
    for folder in (*base.rules, *rules):
        if not folder.is_dir():
            raise Failure(f"{folder}: no such directory of rule tables")
    return Settings(
        (*base.rules, *rules),
        select or base.select,
        (*base.ignore, *ignore),
        (*base.exclude, *exclude),
        quiet,
        gitignore and base.gitignore,
        stdin,
        chainer_version=base.chainer_version,
        chainer_minor=base.chainer_minor,
        jobs=base.jobs,
        init=base.init,
        only=base.only,
        style=base.style,
        trainer=base.trainer,
        parallel_updater=base.parallel_updater,
        modernize=base.modernize,
        self_check=base.self_check,
        goal=Goal(base.baseline, base.fail_under),
    )


def version_fields(version: tuple[int, int | None] | None) -> dict[str, Any]:
    """What a version on the command line changes: nothing, where none was given."""
    return {} if version is None else {"chainer_version": version[0], "chainer_minor": version[1]}


def _known(beginning: str) -> None:
    """A code to select or to ignore must be the beginning of one that exists: else nothing would ever be found."""
    from chainer2torch.rules import codes

    if not beginning or not any(code.startswith(beginning) for code in codes.table()):
        near = codes.nearest(beginning)
        raise Failure(
            f"{beginning or 'an empty code'}: no code begins so"
            + (f"; did you mean {near}?" if near else "; codes look like C2T203, or C2T2 for all of links")
        )
