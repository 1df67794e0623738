"""Options that several commands share, as decorators."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from chainer2torch.cli import completion, config, settings
from chainer2torch.cli.command import Word
from chainer2torch.cli.settings import Goal
from chainer2torch.rules.stage_names import STYLES, TRAINERS

PATH = click.Path(path_type=Path)
Function = Callable[..., Any]


class Version(Word):
    """A version of Chainer: the major one, and the minor one where it is said."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The pair of numbers."""
        if not isinstance(value, str):
            return value
        try:
            return config.version_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def sources(command: Function) -> Function:
    """The arguments that migrate, check and report share; the command gets ``paths`` and ``settings``."""

    @functools.wraps(command)
    def wrapped(
        paths: tuple[Path, ...],
        rules: tuple[Path, ...],
        select: tuple[str, ...],
        ignore: tuple[str, ...],
        exclude: tuple[str, ...],
        quiet: bool,
        no_gitignore: bool,
        stdin_filename: str,
        jobs: int | None,
        chainer_version: tuple[int, int | None] | None,
        style: str | None,
        trainer: str | None,
        no_cache: bool,
        cache_dir: Path | None,
        **rest: Any,
    ) -> Any:
        chosen = settings.settings(paths, rules, select, ignore, exclude, quiet, not no_gitignore, stdin_filename)
        chosen = dataclasses.replace(
            chosen,
            **settings.version_fields(chainer_version),
            style=style or chosen.style,
            trainer=trainer or chosen.trainer,
            jobs=chosen.jobs if jobs is None else jobs,
            cache=not no_cache,
            cache_dir=cache_dir,
        )
        return command(paths=paths, settings=chosen, **rest)

    for option in (
        click.option("-q", "--quiet", is_flag=True, help="No summary."),
        click.option(
            "-j",
            "--jobs",
            type=click.IntRange(min=0),
            metavar="N",
            help="Processes (0, the default: as many as are worth it). The result is the same.",
        ),
        click.option(
            "--stdin-filename",
            default="stdin.py",
            metavar="PATH",
            help="What to call the standard input, when PATH is -.",
        ),
        click.option(
            "--chainer-version",
            type=Version(),
            metavar="N[.M]",
            help="The version of Chainer that the code is for, such as 1.8 or 5 (default: the words of each file and "
            "the requirements tell).",
        ),
        click.option(
            "--style",
            type=click.Choice(STYLES),
            help="native (the default): plain PyTorch, with few short helpers and declared differences; faithful: "
            "Chainer's own interfaces over PyTorch (always so with --only).",
        ),
        click.option(
            "--trainer",
            type=click.Choice(TRAINERS),
            help="What Trainer programs run on in the native style: ppe (the default), a loop over the "
            "ExtensionsManager of pytorch-pfn-extras; ignite, a PyTorch Ignite engine with an IgniteExtensionsManager.",
        ),
        click.option("--no-cache", is_flag=True, help="Work everything out anew, and keep nothing for the next run."),
        click.option(
            "--cache-dir",
            type=PATH,
            metavar="DIR",
            help="Where results are kept for the next run (default: chainer2torch in your folder for caches).",
        ),
        click.option("--no-gitignore", is_flag=True, help="Look at files that git ignores, too."),
        click.option("--exclude", multiple=True, metavar="GLOB", help="Leave these files alone (as in .gitignore)."),
        click.option(
            "--ignore",
            multiple=True,
            metavar="CODE",
            shell_complete=completion.codes,
            help="Leave out sites whose code starts so.",
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="CODE",
            shell_complete=completion.codes,
            help="Only sites whose code starts so.",
        ),
        click.option("--rules", multiple=True, type=PATH, metavar="DIR", help="Rule tables of your own."),
        click.argument("paths", nargs=-1, required=True, type=PATH, metavar="PATH..."),
    ):
        wrapped = option(wrapped)
    return wrapped


def goal(command: Function) -> Function:
    """The options that say when check and report fail; the command gets ``goal``."""

    @functools.wraps(command)
    def wrapped(baseline: Path | None, fail_under: float | None, **rest: Any) -> Any:
        verified: tuple[Path, ...] = rest.pop("verified", ())
        return command(goal=Goal(baseline, fail_under, verified), **rest)

    for option in (
        click.option(
            "--fail-under",
            type=click.FloatRange(0, 100),
            metavar="PERCENT",
            help="Fail only when fewer sites than this are exact or close.",
        ),
        click.option("--baseline", type=PATH, metavar="FILE", help="Fail only on what is new since this JSON report."),
    ):
        wrapped = option(wrapped)
    return wrapped


def both_sides(command: Function) -> Function:
    """The options of commands that run the original and its migration, and write what they found."""
    option = click.option(
        "--report",
        "report_file",
        type=PATH,
        metavar="FILE.json",
        help="Write the result for `chainer2torch report --verify`.",
    )
    return comparing(option(command))


def keeping(command: Function) -> Function:
    """The options that say where what Chainer gave is kept; the command gets the folder, or None, as ``cache``."""

    @functools.wraps(command)
    def wrapped(no_cache: bool, cache_dir: Path | None, **rest: Any) -> Any:
        from chainer2torch.project import result_cache

        return command(cache=None if no_cache else cache_dir or result_cache.default_folder(), **rest)

    for option in (
        click.option("--no-cache", is_flag=True, help="Run Chainer's side anew, and keep nothing for the next run."),
        click.option(
            "--cache-dir",
            type=PATH,
            metavar="DIR",
            help="Where what Chainer's side gave is kept for the next run (default: chainer2torch in your folder for "
            "caches).",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped


def comparing(command: Function) -> Function:
    """The options that say with what the original and its migration are run."""
    for option in (
        click.option("--timeout", type=float, default=600, show_default=True, help="Seconds for each side."),
        click.option("--device", default="cpu", show_default=True, help="cpu or cuda."),
        click.option("--torch-python", metavar="PATH", help="An interpreter with PyTorch (default: this one)."),
        click.option("--chainer-python", metavar="PATH", help="An interpreter with Chainer (default: this one)."),
    ):
        command = option(command)
    return command
