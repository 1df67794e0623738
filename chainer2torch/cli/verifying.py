"""``chainer2torch verify all``: rules, models and scripts in one go, with one page."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import click

from chainer2torch.cli import options, progress
from chainer2torch.cli.command import Command
from chainer2torch.cli.errors import Failure
from chainer2torch.cli.options import PATH
from chainer2torch.cli.running import extras_of, run, write_report
from chainer2torch.cli.settings import Goal, settings
from chainer2torch.project import files
from chainer2torch.project.visible import visible, visible_lines

_MOST_SCRIPTS = 12


@click.command(
    "all",
    cls=Command,
    short_help="Rules, models and scripts, in one go.",
    examples=[
        ("chainer2torch verify all src out --at-least 80", "Status 1 below 80% of the classes and scripts."),
        ("chainer2torch verify all src out --page all.html --budget 900", "A page, after a quarter of an hour."),
    ],
)
@click.argument("src", type=PATH)
@click.argument("out", type=PATH)
@click.option("--run", "scripts", multiple=True, metavar="'SCRIPT ARGS'", help="These scripts, not those it finds.")
@click.option("--no-scripts", is_flag=True, help="Run no script.")
@click.option("--iterations", default=5, show_default=True, help="Updates of each optimizer to compare in a script.")
@click.option("--budget", type=float, metavar="SECONDS", help="For all: what is not reached then is not verified.")
@click.option(
    "--at-least",
    type=click.FloatRange(0, 100),
    default=0,
    metavar="PERCENT",
    help="Exit 1 unless so many of the classes and scripts are proved.",
)
@click.option("--page", type=PATH, metavar="FILE.html", help="Write a page with all of it.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the result as JUnit XML.")
@options.keeping
@options.both_sides
def verify_all(
    src: Path,
    out: Path,
    scripts: tuple[str, ...],
    no_scripts: bool,
    page: Path | None,
    junit: Path | None,
    report_file: Path | None,
    **chosen: Any,
) -> int:
    """Compare what can be compared: the rules that SRC uses, its models, and the scripts that run with small data."""
    from chainer2torch.port import whole
    from chainer2torch.port.look import Script, look
    from chainer2torch.rules.table import load_rules
    from chainer2torch.vendor import compat_file

    for folder in (src, out):
        if not folder.is_dir():
            raise Failure(f"{folder}: no such folder")
    helpers = [path.read_text(encoding="utf-8", errors="replace") for path in out.rglob(compat_file.FILE_NAME)]
    style = next(filter(None, map(compat_file.style_of, helpers)), "native")
    with_settings = dataclasses.replace(settings((src,), (), (), (), (), quiet=True), only=(), style=style)
    project = run((src,), with_settings)
    report = project.report(migrated=True)
    found = tuple(Script(*_split(command)) for command in scripts)
    if not found and not no_scripts:
        tree = project.trees[0]
        texts = {path: source.text for path, source in tree.sources.items()}
        found = tuple(s for s in look(tree, texts, ()).scripts if (out / s.path).is_file())[:_MOST_SCRIPTS]
    with progress.models() as tell:
        result = whole.verify_all(
            src,
            out,
            sorted({site.symbol for site in report.sites if site.state in ("exact", "close")}),
            load_rules(style=style),
            found,
            tell=tell,
            say=lambda line: click.echo(visible(f"-- {line}"), err=True),
            **chosen,
        )
    click.echo(visible_lines("\n".join(result.lines())))
    if page is not None:
        extras = extras_of(report, with_settings, Goal())
        write_report(page, "html", report, dataclasses.replace(extras, checks=result.checks, facts=result.facts()))
    if report_file is not None:
        files.write_atomic(report_file, result.document().encode())
    if junit is not None:
        files.write_atomic(junit, result.junit().encode())
    return result.exit_code


def _split(command: str) -> tuple[str, tuple[str, ...]]:
    path, *arguments = shlex.split(command)
    return path, tuple(arguments)
