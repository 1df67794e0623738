"""The command line: options and exit codes. What the commands do is in commands.py.

Exit status 0: nothing left to do; 1: something is left, or would change; 2: usage or internal error, also when a file
could not be read or parsed (the others are still done).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from chainer2torch.cli import commands, completion, config
from chainer2torch.cli.commands import Failure, Goal, Settings

PATH = click.Path(path_type=Path)
F = Callable[..., Any]


def _version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib import metadata

    from chainer2torch import __version__

    click.echo(f"chainer2torch {__version__}")
    for package in ("libcst", "torch", "chainer", "pytorch-ignite", "pytorch-pfn-extras", "numpy"):
        try:
            click.echo(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            click.echo(f"{package} is not installed")
    context.exit(0)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Versions of chainer2torch and of the libraries it works with.",
)
@click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback with an error.")
def cli() -> None:
    """Migrate Chainer programs (v1 to v7) to PyTorch, and prove that the result computes the same."""


def _common(command: F) -> F:
    """The arguments that migrate, check and report share; the command gets ``paths`` and ``settings``."""
    import functools

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
        chainer_version: int | None,
        **rest: Any,
    ) -> Any:
        options: Settings = commands.settings(
            paths, rules, select, ignore, exclude, quiet, not no_gitignore, stdin_filename
        )
        options = dataclasses.replace(
            options,
            chainer_version=chainer_version or options.chainer_version,
            jobs=options.jobs if jobs is None else jobs,
        )
        return command(paths=paths, options=options, **rest)

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
            type=click.IntRange(1, 7),
            metavar="N",
            help="The version of Chainer that the code is for (default: the words of each file tell).",
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


@cli.command()
@click.option("-o", "--output", "out", type=PATH, metavar="OUT", help="Write a migrated copy of the tree here.")
@click.option("--write", is_flag=True, help="Change the files themselves.")
@click.option("--diff", is_flag=True, help="Print a patch and change nothing (the default).")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty, or over uncommitted changes.")
@click.option(
    "--report", "report_file", type=PATH, metavar="FILE", help="Write a report: .txt, .json, .md, .html or .sarif."
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
@_common
def migrate(
    paths: tuple[Path, ...],
    options: Settings,
    out: Path | None,
    write: bool,
    diff: bool,
    force: bool,
    report_file: Path | None,
    init: str | None,
    only: tuple[str, ...],
    parallel_updater: str | None,
    trace: Path | None,
) -> int:
    """Migrate files or folders to PyTorch. The code is read, never run or imported."""
    if sum([out is not None, write, diff]) > 1:
        raise click.UsageError("choose one of -o, --write and --diff")
    options = dataclasses.replace(
        options,
        trace=trace,
        init=init or options.init,
        only=config.stages(only) or options.only,
        parallel_updater=parallel_updater or options.parallel_updater,
    )
    return commands.migrate(paths, options, out, write, force, report_file, diff)


def _goal(command: F) -> F:
    """The options that say when check and report fail; the command gets ``goal``."""
    import functools

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


@cli.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="github: annotations for GitHub Actions.",
)
@click.option("--kinds", is_flag=True, help="Print instead what every name, attribute and call was found to be.")
@_goal
@_common
def check(paths: tuple[Path, ...], options: Settings, form: str, goal: Goal, kinds: bool) -> int:
    """Is anything of Chainer left? Prints each place."""
    if kinds:
        return commands.kinds(paths, options)
    return commands.check(paths, options, form, goal)


@cli.command(short_help="What a migration would do, site by site.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "html", "sarif", "github"]),
    help="Default: by the ending of -o.",
)
@click.option("-o", "--output", "out", type=PATH, metavar="FILE", help="Write the report here.")
@click.option(
    "--verify",
    "verified",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="Show these results of `chainer2torch verify` in the HTML page (JUnit XML, or JSON of --report).",
)
@_goal
@_common
def report(paths: tuple[Path, ...], options: Settings, form: str | None, out: Path | None, goal: Goal) -> int:
    """What a migration would do: every Chainer site and its state."""
    return commands.report(paths, options, form, out, goal)


@cli.command(short_help="List the rules, or show one.")
@click.argument("name", required=False, shell_complete=completion.rules)
@click.option("--rules", "rule_dirs", multiple=True, type=PATH, metavar="DIR", help="Rule tables of your own.")
def rules(name: str | None, rule_dirs: tuple[Path, ...]) -> int:
    """List the rules, or show one. NAME is a dotted Chainer name, its last part, a module, or a part of a name."""
    from chainer2torch.cli import reference

    return _printed(lambda: reference.rules_text(name, rule_dirs))


def _printed(text: Callable[[], str]) -> int:
    try:
        click.echo(text(), nl=False)
    except LookupError as error:
        raise Failure(str(error.args[0])) from None
    return 0


@cli.command()
@click.argument("code", shell_complete=completion.codes)
def explain(code: str) -> int:
    """Say what a code of a report means, and what to do."""
    from chainer2torch.cli import reference

    return _printed(lambda: reference.explained(code))


@cli.command(short_help="Turn Chainer's weights into PyTorch's, or back.")
@click.argument("source", metavar="IN", type=PATH)
@click.option("--model", required=True, metavar="MODULE:CLASS", help="The migrated model, importable from here.")
@click.option("--args", default="[]", metavar="JSON", help="Its constructor arguments: a list or an object.")
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=PATH,
    metavar="OUT",
    help="What to write: a state_dict (.pt, .pth), .safetensors, or a file for Chainer (.npz).",
)
@click.option(
    "--prefix",
    default="",
    metavar="PATH",
    help="The part of IN to load, such as updater/model:main/ of a trainer's snapshot.",
)
@click.option("--allow-extra", is_flag=True, help="Leave out what IN has and the model has no place for.")
def weights(source: Path, model: str, args: str, out: Path, prefix: str, allow_extra: bool) -> int:
    """Turn Chainer's weights (IN: .npz, .h5) into PyTorch's, or back (IN: .pt). Imports and runs the model's module."""
    return commands.weights(source, model, args, out, prefix, allow_extra)


@cli.command("trace", short_help="Run a script under Chainer and record what it does.")
@click.argument("script", nargs=-1, required=True, metavar="-- SCRIPT [ARGS]...")
@click.option("-o", "--output", "out", type=PATH, default="trace.json", show_default=True, metavar="FILE")
@click.option("--iterations", default=0, metavar="N", help="Stop after N updates of an optimizer (0: run to the end).")
@click.option("--chainer-python", metavar="PATH", help="An interpreter with Chainer (default: this one).")
@click.option("--timeout", type=float, default=3600, show_default=True, help="Seconds.")
def trace_command(script: tuple[str, ...], out: Path, **options: Any) -> int:
    """Run a script under Chainer and record kinds and shapes for `migrate --trace` and `verify models --trace`."""
    return commands.trace(script, out, **options)


@cli.group(short_help="Run both versions, under Chainer and PyTorch, and compare.")
def verify() -> None:
    """Run the original under Chainer and the result under PyTorch, and compare. This runs the code."""


def _runs(command: F) -> F:
    for option in (
        click.option(
            "--report",
            "report_file",
            type=PATH,
            metavar="FILE.json",
            help="Write the result for `chainer2torch report --verify`.",
        ),
        click.option("--timeout", type=float, default=600, show_default=True, help="Seconds for each side."),
        click.option("--device", default="cpu", show_default=True, help="cpu or cuda."),
        click.option("--torch-python", metavar="PATH", help="An interpreter with PyTorch (default: this one)."),
        click.option("--chainer-python", metavar="PATH", help="An interpreter with Chainer (default: this one)."),
    ):
        command = option(command)
    return command


@verify.command("rules")
@click.argument("names", nargs=-1, shell_complete=completion.rules)
@click.option("--no-matrix", is_flag=True, help="Only the examples as written.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the result as JUnit XML.")
@click.option("-v", "--verbose", is_flag=True, help="List what was not verified.")
@click.option("--rules", "rule_dirs", multiple=True, type=PATH, metavar="DIR", help="Rule tables of your own.")
@_runs
def verify_rules(
    names: tuple[str, ...],
    no_matrix: bool,
    junit: Path | None,
    verbose: bool,
    rule_dirs: tuple[Path, ...],
    report_file: Path | None,
    **options: Any,
) -> int:
    """Run every rule's examples in both frameworks: values and gradients."""
    from chainer2torch import verify as room
    from chainer2torch.rules.table import load_rules

    try:
        result = room.verify_rules(names, rules=load_rules(rule_dirs), matrix=not no_matrix, junit=junit, **options)
    except LookupError as error:
        raise Failure(str(error.args[0] if error.args else error)) from None
    return _verified(result, result.lines(verbose), report_file)


@verify.command("models")
@click.argument("src", type=PATH)
@click.argument("out", type=PATH)
@click.argument("names", nargs=-1)
@click.option("--steps", default=3, show_default=True, help="Optimizer steps to compare.")
@click.option("--seed", default=0, show_default=True, help="For the inputs and weights.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the result as JUnit XML.")
@click.option("--trace", type=PATH, metavar="FILE", help="Also the models that `chainer2torch trace` saw.")
@_runs
def verify_models(src: Path, out: Path, names: tuple[str, ...], report_file: Path | None, **options: Any) -> int:
    """Compare models from the same weights: those that SRC/pyproject.toml names, and others whose inputs the code tells."""  # noqa: E501
    from chainer2torch import verify as room

    result = room.verify_models(_folder(src), _folder(out), names, **options)
    return _verified(result, result.lines(verbose=True), report_file)


@verify.command("script", context_settings={"ignore_unknown_options": False})
@click.argument("src", type=PATH)
@click.argument("out", type=PATH)
@click.argument("script", nargs=-1, required=True, metavar="-- SCRIPT [ARGS]...")
@click.option("--iterations", default=20, show_default=True, help="Updates of each optimizer to compare.")
@click.option("--seed", default=0, show_default=True, help="For weights, batches and dropout.")
@_runs
def verify_script(src: Path, out: Path, script: tuple[str, ...], report_file: Path | None, **options: Any) -> int:
    """Run a training script of SRC and its migration in OUT in lockstep, and compare the losses."""
    from chainer2torch import verify as room

    result = room.verify_script(_folder(src), _folder(out), list(script), **options)
    return _verified(result, result.lines(), report_file)


def _verified(result: Any, lines: list[str], report_file: Path | None) -> int:
    click.echo("\n".join(lines))
    if report_file is not None:
        from chainer2torch.project import files
        from chainer2torch.report.verification import document_of

        files.write_atomic(report_file, document_of(result).encode())
    return int(result.exit_code)


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise Failure(f"{path}: no such folder")
    return path
