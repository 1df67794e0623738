"""``chainer2torch rules`` and ``chainer2torch explain``: what the tool knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from chainer2torch.cli import completion
from chainer2torch.cli.command import Command
from chainer2torch.cli.errors import DONE, Failure
from chainer2torch.cli.options import PATH


@click.command(
    cls=Command,
    short_help="List the rules, or show one.",
    examples=[
        ("chainer2torch rules leaky_relu", "What becomes of a function, with examples."),
        ("chainer2torch rules chainer.optimizers", "All rules of a module."),
    ],
)
@click.argument("name", required=False, shell_complete=completion.rules)
@click.option("--rules", "rule_dirs", multiple=True, type=PATH, metavar="DIR", help="Rule tables of your own.")
def rules(name: str | None, rule_dirs: tuple[Path, ...]) -> int:
    """List the rules, or show one. NAME is a dotted Chainer name, its last part, a module, or a part of a name."""
    from chainer2torch.cli import reference

    return _printed(lambda: reference.rules_text(name, rule_dirs))


@click.command(
    cls=Command,
    examples=[
        ("chainer2torch lsp", "What an editor starts; it speaks the Language Server Protocol on its pipes."),
    ],
)
def lsp() -> int:
    """Serve an editor: places of Chainer as you type, what they become, and quick fixes.

    Needs pygls: pip install 'chainer2torch[lsp]'. How editors start it: docs/editors.md.
    """
    try:
        from chainer2torch.cli.editors import server
    except ImportError as error:
        raise Failure(f"{error.name} is not installed: pip install 'chainer2torch[lsp]'") from None
    server.serve()
    return DONE


def _printed(text: Callable[[], str]) -> int:
    try:
        click.echo(text(), nl=False)
    except LookupError as error:
        raise Failure(str(error.args[0])) from None
    return DONE


@click.command(
    cls=Command,
    examples=[("chainer2torch explain C2T203", "What this code of a report means.")],
)
@click.argument("code", shell_complete=completion.codes)
def explain(code: str) -> int:
    """Say what a code of a report means, and what to do."""
    from chainer2torch.cli import reference

    return _printed(lambda: reference.explained(code))
