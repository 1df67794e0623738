"""Completion of commands, options, codes and rules, as the shells ask for it."""

import os
import shutil
import subprocess
import sys

import pytest

from chainer2torch.cli import completion
from tests.cli.test_cli import ROOT


def complete(shell, *words):
    """What the program answers to a shell whose user has typed these words."""
    line = " ".join(("chainer2torch", *words))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "_CHAINER2TORCH_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": line if shell != "fish" else line.removesuffix(words[-1]),
        "COMP_CWORD": str(len(words)) if shell != "fish" else words[-1],
    }
    done = subprocess.run([sys.executable, "-m", "chainer2torch"], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_commands_options_and_values(shell):
    def names(*words):
        return [line.partition(",")[2].partition("\t")[0] for line in complete(shell, *words)]

    assert names("mig") == ["migrate"] and names("verify", "") == ["all", "models", "rules", "script"]
    assert names("migrate", "--wri") == ["--write"]
    assert sorted(names("report", "--format", "s")) == ["sarif"]
    assert names("explain", "C2T00")[:2] == ["C2T001", "C2T002"]
    assert names("rules", "leaky") == ["leaky_relu"]
    assert "chainer.functions.leaky_relu" in names("rules", "chainer.functions.le")
    assert names("rules", "F.leaky") == ["F.leaky_relu"] == names("verify", "rules", "F.leaky")
    assert names("check", "--select", "c2t00")[:2] == ["C2T001", "C2T002"] == names("migrate", "--ignore", "C2T00")[:2]
    assert names("migrate", "--only", "t") == ["training"]


def test_zsh_gets_the_help_as_well():
    assert complete("zsh", "mig")[:3] == ["plain", "migrate", "Migrate files or folders to PyTorch."]


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("", ["training", "data", "models"]),
        ("training,", ["training,data", "training,models"]),
        ("training,data,m", ["training,data,models"]),
        ("nothing", []),
    ],
)
def test_several_stages(begun, offered):
    assert completion.stages(None, None, begun) == offered


@pytest.fixture
def installed(tmp_path):
    """An environment in which the command is on the PATH."""
    command = tmp_path / "chainer2torch"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m chainer2torch "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def lines_of_the_docs():
    """The lines that docs/index.md gives to bash, zsh and fish."""
    text = (ROOT / "docs/index.md").read_text()
    return {
        shell: next(line.partition("  #")[0].strip() for line in text.splitlines() if f"{shell}_source" in line)
        for shell in ("bash", "zsh", "fish")
    }


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_in_a_real_bash(installed):
    """The line of docs/index.md, and then bash's own function with what a user has typed."""
    script = (
        f"{lines_of_the_docs()['bash']}\ncomplete -p chainer2torch\n"
        "COMP_WORDS=(chainer2torch verify s); COMP_CWORD=2\n"
        "_chainer2torch_completion chainer2torch\necho ${COMPREPLY[*]}\n"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=installed)
    assert done.stdout.splitlines()[-1] == "script", done.stderr
    assert "-F _chainer2torch_completion chainer2torch" in done.stdout


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_in_a_real_zsh(installed):
    """As in bash; the editor's own commands, which only work while somebody types, print what they are given."""
    script = (
        f"autoload -Uz compinit; compinit -D -u\n{lines_of_the_docs()['zsh']}\nprint $_comps[chainer2torch]\n"
        "_describe() { print -l $completions_with_descriptions }; compadd() { print -l $completions }\n"
        "words=(chainer2torch verify s); CURRENT=3; _chainer2torch_completion\n"
        "words=(chainer2torch explain C2T001); CURRENT=3; _chainer2torch_completion\n"
    )
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, env=installed)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "_chainer2torch_completion",
        "script",
        "C2T001",
    ], done.stderr


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_in_a_real_fish(installed, tmp_path):
    """`complete -C` is what fish itself asks when the tab key is pressed."""
    (tmp_path / "net.py").touch()
    script = f"{lines_of_the_docs()['fish']}\n" + "".join(
        f'complete -C "chainer2torch {words}"\n' for words in ("verify s", "report --format sa", "migrate ne")
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], capture_output=True, text=True, env=installed, cwd=tmp_path
    )
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == ["script", "sarif", "net.py"], done.stderr
