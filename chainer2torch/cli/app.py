"""The command line: its commands. Each is in a module of its own kind, how they end is in errors.py.

Exit status 0: nothing left to do; 1: something is left, or would change; 2: usage or internal error, also when a file
could not be read or parsed (the others are still done).
"""

from __future__ import annotations

import click

from chainer2torch import startup
from chainer2torch.cli import lookup, migrating, porting, programs, reporting
from chainer2torch.cli.command import Group


def _version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib import metadata

    from chainer2torch import __version__

    click.echo(f"chainer2torch {__version__}")
    for package in startup.PACKAGES:
        try:
            click.echo(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            click.echo(f"{package} is not installed")
    context.exit(0)


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=[
        ("chainer2torch port src -o out", "Start here: look, migrate, compare, and say what is next."),
        ("chainer2torch check src", "Is there anything of Chainer?"),
        ("chainer2torch migrate src -o out", "Write a migrated copy."),
        ("chainer2torch verify script src out -- train.py --epoch 1", "Do both compute the same?"),
    ],
)
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


for command in (
    porting.port,
    migrating.migrate,
    reporting.check,
    reporting.report,
    lookup.rules,
    lookup.explain,
    lookup.lsp,
    programs.weights,
    programs.trace_command,
    programs.verify,
):
    cli.add_command(command)
