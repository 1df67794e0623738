"""Every `--help` ends with examples, and the examples are right: their words are parsed as the command parses them."""

import shlex

import click
import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli


def commands(group=cli, path=()):
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


ALL = list(commands())


@pytest.mark.parametrize("path, command", ALL, ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_examples(path, command):
    shown = CliRunner().invoke(cli, [*path, "--help"], prog_name="chainer2torch").output
    assert "\nExamples:\n" in shown and command.examples
    for line, meaning in command.examples:
        assert f"  {line}\n" in shown and meaning.endswith((".", "?")), line
        words = shlex.split(line.partition(" < ")[0])
        assert words[: 1 + len(path)] == ["chainer2torch", *path]
        target, rest = cli, words[1:]
        while isinstance(target, click.Group):
            target, rest = target.commands[rest[0]], rest[1:]
        target.make_context("x", rest)  # raises where an option or an argument is wrong


def test_all_commands_are_looked_at():
    assert len(ALL) == 15 and {"migrate", "report"} <= {path[-1] for path, _ in ALL if path}


@pytest.mark.parametrize("words", [["report", "."], ["check", "."]])
def test_an_unknown_format_is_refused_with_the_known_ones(words):
    done = CliRunner().invoke(cli, [*words, "--format", "xml"])
    assert done.exit_code == 2 and "'xml' is not one of github, gitlab, html, json, junit" in done.stderr
