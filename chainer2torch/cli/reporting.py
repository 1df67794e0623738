"""``chainer2torch check`` and ``chainer2torch report``: the same sites, before and after a migration."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click

from chainer2torch.cli import options
from chainer2torch.cli.command import Command, FormatName
from chainer2torch.cli.options import PATH
from chainer2torch.cli.running import exit_code, extras_of, format_for, run, show_problems, write_report
from chainer2torch.cli.settings import Goal, Settings
from chainer2torch.project.visible import visible
from chainer2torch.report.extras import Extras
from chainer2torch.report.model import Report


@click.command(
    cls=Command,
    examples=[
        ("chainer2torch check src", "One line for each place; status 1 when there is one."),
        ("chainer2torch check src --select C2T2", "Only links."),
        ("chainer2torch check src --baseline chainer-baseline.json", "Fail only on what is new."),
        ("chainer2torch check net.py --kinds", "What the analysis has understood."),
    ],
)
@click.option("--format", "form", type=FormatName(), default="text", show_default=True, help="How to print them.")
@click.option("--kinds", is_flag=True, help="Print instead what every name, attribute and call was found to be.")
@options.goal
@options.sources
def check(paths: tuple[Path, ...], settings: Settings, form: str, goal: Goal, kinds: bool) -> int:
    """Is anything of Chainer left? Prints each place."""
    return _kinds(paths, settings) if kinds else _check(paths, settings, form, goal.over(settings.goal))


@click.command(
    cls=Command,
    short_help="What a migration would do, site by site.",
    examples=[
        ("chainer2torch report src", "Every site, and a summary."),
        ("chainer2torch report src -o report.html", "A page to look at; the ending says in which format."),
        ("chainer2torch report src -o report.html -o report.sarif", "Two formats of one run."),
        ("chainer2torch report src --format github", "Marks on a pull request."),
        ("chainer2torch report src --fail-under 95", "Fail when too small a share is exact or close."),
    ],
)
@click.option("--format", "form", type=FormatName(), help="Default: by the ending of -o, else text.")
@click.option(
    "-o",
    "--output",
    "outs",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Write the report here; several times for several formats of one run.",
)
@click.option("--print", "printed", type=FormatName(), help="Print this format, too, where there is a -o.")
@click.option(
    "--verify",
    "verified",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Show these results of `chainer2torch verify` in the HTML page (JUnit XML, or JSON of --report).",
)
@options.goal
@options.sources
def report(
    paths: tuple[Path, ...],
    settings: Settings,
    form: str | None,
    outs: tuple[Path, ...],
    printed: str | None,
    goal: Goal,
) -> int:
    """What a migration would do: every Chainer site and its state."""
    if form and len(outs) > 1:
        raise click.UsageError("--format is for one -o; the endings of several say which formats they are")
    files = [(path, form or format_for(path)) for path in outs]
    return _report(paths, settings, files, printed if outs else printed or form or "text", goal.over(settings.goal))


def _kinds(paths: tuple[Path, ...], settings: Settings) -> int:
    """Prints what each name, attribute and call was found to be."""
    project = run(paths, settings, rewrite=False, kinds=True)
    for tree in project.trees:
        for path in tree.reported:
            result = tree.results.get(path)
            for line in result.kinds if result is not None and path not in tree.broken else ():
                click.echo(visible(line if line.startswith(" ") else tree.shown + line))
    report = project.report(migrated=False)
    show_problems(report)
    return exit_code(report, False)


def _check(paths: tuple[Path, ...], settings: Settings, form: str, goal: Goal) -> int:
    """Prints every place that needs Chainer; status 1 when there is one."""
    from chainer2torch.report import terminal

    settings = dataclasses.replace(settings, only=())  # whatever is being migrated: everything counts here
    report = run(paths, settings, rewrite=False).report(migrated=False).filtered(settings.select, settings.ignore)
    extras = extras_of(report, settings, goal)
    found = bool(report.leftovers())
    if form == "text":
        shown = terminal.sites(report, extras)
    else:
        from chainer2torch.report import formats

        shown = formats.render(form, report, extras)
    terminal.show(shown, sys.stdout)
    show_problems(report)
    if not settings.quiet:
        advice = "migrate it: `chainer2torch migrate PATH -o OUT`" if found and not report.problems else ""
        terminal.show(terminal.summary(report, advice, extras), sys.stderr)
    return exit_code(report, _missed(report, extras, goal, found, settings.quiet))


def _report(
    paths: tuple[Path, ...], settings: Settings, files: list[tuple[Path, str]], printed: str | None, goal: Goal
) -> int:
    """What a migration would do, in the formats that are asked for: the files, and one on the terminal."""
    from chainer2torch.report import formats, terminal

    result = run(paths, settings).report(migrated=True).filtered(settings.select, settings.ignore)
    extras = extras_of(result, settings, goal)
    show_problems(result)
    for path, form in files:
        write_report(path, form, result, extras)
    if printed:
        terminal.show(formats.render(printed, result, extras), sys.stdout)
    if files and not settings.quiet:
        terminal.show(terminal.summary(result, "", extras), sys.stderr)
        click.echo(f"written: {', '.join(str(path) for path, _ in files)}", err=True)
    return exit_code(result, _missed(result, extras, goal, result.something_left(), settings.quiet))


def _missed(report: Report, extras: Extras, goal: Goal, left: bool, quiet: bool) -> bool:
    """Whether the goal is missed: something new or too small a share where that was asked for, else anything left."""
    if goal.baseline is None and goal.fail_under is None:
        return left
    share = report.share_done()
    low = goal.fail_under is not None and share < goal.fail_under
    if low and not quiet:
        click.echo(
            f"chainer2torch: {share:.1f} % of the sites are exact or close, less than {goal.fail_under:g} %", err=True
        )
    return low or bool(extras.comparison and extras.comparison.new)
