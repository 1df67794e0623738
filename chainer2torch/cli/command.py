"""A click command whose `--help` ends with examples, and with the formats where it writes reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from chainer2torch.report import formats

if TYPE_CHECKING:  # older versions of click have no parameter there when the program runs
    Word = click.ParamType[str]
else:
    Word = click.ParamType


class Command(click.Command):
    """``examples`` are pairs of a command line and what it does. A command must have at least one."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what stands below the options."""
        super().format_epilog(ctx, formatter)
        if any(isinstance(param.type, FormatName) for param in self.params):
            with formatter.section("Formats (and the endings of -o that stand for them)"):
                formatter.write_dl(
                    [(" ".join((name, *form.endings)), form.help) for name, form in formats.every().items()],
                    col_max=26,
                )
        write_examples(self.examples, formatter)


class Group(click.Group):
    """A group of commands, whose help has examples, too."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what stands below the list of commands."""
        super().format_epilog(ctx, formatter)
        write_examples(self.examples, formatter)


def write_examples(examples: Sequence[tuple[str, str]], formatter: click.HelpFormatter) -> None:
    """Each example's command on a line of its own, to be copied, and below it what it does."""
    with formatter.section("Examples"):
        for line, meaning in examples:
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
            with formatter.indentation():
                formatter.write_text(meaning)


class FormatName(Word):
    """The name of a report format: what is registered in report/formats when the command runs."""

    name = "format"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """How the choices are shown in a usage line."""
        return f"[{'|'.join(formats.names())}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuses other names, with the list of those there are."""
        if value not in formats.names():
            self.fail(f"{value!r} is not one of {', '.join(formats.names())}.", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What a shell offers, with the formats' own help."""
        return [
            CompletionItem(name, help=form.help)
            for name, form in formats.every().items()
            if name.startswith(incomplete)
        ]
