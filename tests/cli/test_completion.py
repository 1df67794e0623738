"""Completion of commands, options, codes and rules, as the shells ask for it."""
import os
import shutil
import subprocess
import sys

import pytest

from tests.cli.test_cli import ROOT


def complete(shell, *words):
    """What the program answers to a shell whose user has typed these words."""
    line = " ".join(("chainer2torch", *words))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_CHAINER2TORCH_COMPLETE": f"{shell}_complete",
                   "COMP_WORDS": line if shell != "fish" else line.removesuffix(words[-1]),
                   "COMP_CWORD": str(len(words)) if shell != "fish" else words[-1]}
    done = subprocess.run([sys.executable, "-m", "chainer2torch"], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_commands_options_and_values(shell):
    def names(*words):
        return [line.partition(",")[2].partition("\t")[0] for line in complete(shell, *words)]

    assert names("mig") == ["migrate"] and names("verify", "") == ["models", "rules", "script"]
    assert names("migrate", "--wri") == ["--write"]
    assert sorted(names("report", "--format", "s")) == ["sarif"]
    assert names("explain", "C2T00")[:2] == ["C2T001", "C2T002"]
    assert names("rules", "leaky") == ["leaky_relu"]
    assert "chainer.functions.leaky_relu" in names("rules", "chainer.functions.le")


def test_zsh_gets_the_help_as_well():
    assert complete("zsh", "mig")[:3] == ["plain", "migrate", "Migrate files or folders to PyTorch."]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_in_a_real_bash(tmp_path):
    """The line of docs/index.md, and then bash's own function with what a user has typed."""
    command = tmp_path / "chainer2torch"
    command.write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m chainer2torch \"$@\"\n")
    command.chmod(0o755)
    line = 'eval "$(_CHAINER2TORCH_COMPLETE=bash_source chainer2torch)"'
    assert line in (ROOT / "docs/index.md").read_text()
    script = (f"{line}\ncomplete -p chainer2torch\nCOMP_WORDS=(chainer2torch verify s); COMP_CWORD=2\n"
              "_chainer2torch_completion chainer2torch\necho ${COMPREPLY[*]}\n")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.stdout.splitlines()[-1] == "script", done.stderr
    assert "-F _chainer2torch_completion chainer2torch" in done.stdout
