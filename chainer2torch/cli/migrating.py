"""``chainer2torch migrate``."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import click

from chainer2torch.cli import completion, config, options
from chainer2torch.cli.command import Command
from chainer2torch.cli.errors import Failure
from chainer2torch.cli.options import PATH
from chainer2torch.cli.running import checked, exit_code, extras_of, format_for, run, show_problems, write_report
from chainer2torch.cli.settings import Goal, Settings
from chainer2torch.project.scan import STDIN


@click.command(
    cls=Command,
    examples=[
        ("chainer2torch migrate src", "Print what would change, as a patch."),
        ("chainer2torch migrate src -o out --report out/report.html", "Write a migrated copy, and a page about it."),
        ("chainer2torch migrate src --write --only training", "Change the files: only what trains."),
        ("chainer2torch migrate - < net.py", "Standard input to standard output."),
    ],
)
@click.option("-o", "--output", "out", type=PATH, metavar="OUT", help="Write a migrated copy of the tree here.")
@click.option("--write", is_flag=True, help="Change the files themselves.")
@click.option("--diff", is_flag=True, help="Print a patch and change nothing (the default).")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty, or over uncommitted changes.")
@click.option(
    "--report",
    "report_file",
    type=PATH,
    metavar="FILE",
    help="Write a report; its ending says in which format (`chainer2torch report --help`).",
)
@click.option(
    "--init",
    type=click.Choice(["chainer", "torch"]),
    help="Whose initial values the layers of torch.nn start from (default: Chainer's).",
)
@click.option(
    "--parallel-updater",
    type=click.Choice(["ddp", "single"]),
    help="ParallelUpdater and MultiprocessParallelUpdater: DistributedDataParallel in the processes of "
    "torchrun (ddp, the default), or all shares on the first device.",
)
@click.option(
    "--no-modernize",
    is_flag=True,
    help="Leave names that today's Python and NumPy have dropped (np.float, collections.Callable).",
)
@click.option(
    "--no-self-check",
    is_flag=True,
    help="Leave out the check that a second run would not change the output again.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="STAGE",
    shell_complete=completion.stages,
    help="Migrate a part and leave a project that runs with both "
    "frameworks: training, data, models (in this order; several with commas).",
)
@click.option(
    "--trace",
    type=PATH,
    metavar="FILE",
    help="Let a run of the original (chainer2torch trace) decide what the code leaves open.",
)
@options.sources
def migrate(
    paths: tuple[Path, ...],
    settings: Settings,
    out: Path | None,
    write: bool,
    diff: bool,
    force: bool,
    report_file: Path | None,
    init: str | None,
    only: tuple[str, ...],
    parallel_updater: str | None,
    no_modernize: bool,
    no_self_check: bool,
    trace: Path | None,
) -> int:
    """Migrate files or folders to PyTorch. The code is read, never run or imported."""
    if sum([out is not None, write, diff]) > 1:
        raise click.UsageError("choose one of -o, --write and --diff")
    settings = dataclasses.replace(
        settings,
        trace=trace,
        init=init or settings.init,
        only=config.stages(only) or settings.only,
        parallel_updater=parallel_updater or settings.parallel_updater,
        modernize=settings.modernize and not no_modernize,
        self_check=settings.self_check and not no_self_check,
    )
    if settings.only:  # what stays Chainer meets what is migrated in Chainer's own interfaces
        settings = dataclasses.replace(settings, style="faithful")
    if not write:
        return _migrate(paths, settings, out, write, force, report_file, diff)
    from chainer2torch.cli.in_place import alone

    with alone(paths):
        return _migrate(paths, settings, out, write, force, report_file, diff)


def _migrate(
    paths: tuple[Path, ...],
    settings: Settings,
    out: Path | None,
    write: bool,
    force: bool,
    report_file: Path | None,
    diff: bool = False,
) -> int:
    """``migrate``: -o, --write or (the default) the patch on stdout; the summary goes to stderr."""
    from chainer2torch.project import output, patches
    from chainer2torch.report import terminal

    form = format_for(report_file) if report_file else ""
    if paths == (STDIN,) and not diff:
        if out is not None or write:
            raise Failure("-: the standard input is migrated to the standard output; leave out -o and --write")
        return _filter(settings, report_file, form)
    project = run(paths, settings, writing=write)
    wanted = output.changes(project)
    checked(project, wanted, settings)
    if out is not None:
        output.write_out(project, wanted, out, force)
    elif write:
        output.write_back(project, wanted, force)
    else:
        brief = sys.stdout.isatty()  # else it is a file or a program that gets the patch
        for line in patches.patch(wanted, brief):
            click.echo(_coloured(line) if brief else line, nl=False)
    report = project.report(migrated=True).filtered(settings.select, settings.ignore)
    report.written = out is not None or write
    show_problems(report)
    if not settings.quiet:
        advice = ""
        if not report.written and wanted and not report.problems:
            advice = "this was a dry run: -o OUT writes a migrated copy, --write changes the files"
        terminal.show(terminal.summary(report, advice), sys.stderr)
        if settings.init == "torch":
            click.echo(
                "first values: PyTorch's own (--init torch), which are not Chainer's: new models start, and so "
                "train, differently",
                err=True,
            )
    if report_file:
        write_report(report_file, form, report, extras_of(report, settings, Goal()))
    return exit_code(report, report.something_left() or (not report.written and bool(wanted)))


def _coloured(raw: bytes) -> str:
    """A line of a patch as git shows it on a terminal; where NO_COLOR is set, without colours."""
    line = raw.decode("utf-8", "replace")
    if os.environ.get("NO_COLOR"):
        return line
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    head = line.startswith(("+++ ", "--- "))
    return click.style(line, bold=True) if head else click.style(line, fg=colour) if colour else line


def _filter(settings: Settings, report_file: Path | None, form: str) -> int:
    """Standard input to standard output, for editors: the text as it is where nothing changes."""
    project = run((STDIN,), settings)
    tree = project.trees[0] if project.trees else None
    helpers: frozenset[str] = frozenset()
    if tree is not None:
        name = tree.reported[0]
        raw = tree.unread.get(name) or (tree.sources[name].raw if name in tree.sources else b"")
        result = tree.results.get(name)
        if result is not None and name not in tree.broken:
            raw, helpers = tree.sources[name].encode(result.code), result.helpers
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
    report = project.report(migrated=True).filtered(settings.select, settings.ignore)
    report.written = True
    show_problems(report)
    if helpers and not settings.quiet:
        click.echo(
            "chainer2torch: the text imports chainer_compat; `chainer2torch migrate FOLDER` writes that module",
            err=True,
        )
    if report_file:
        write_report(report_file, form, report, extras_of(report, settings, Goal()))
    return exit_code(report, report.something_left())
