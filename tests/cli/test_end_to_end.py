"""The main job on the fixtures: migrate, run both versions from the same weights and batches, compare."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import run

ROOT = Path(__file__).parents[2]
COMPLETE = {"mlp_trainer": ["train.py", "--epoch", "2"], "cnn_loop": ["train.py", "--epoch", "2"]}


@pytest.mark.parametrize("name", sorted(COMPLETE))
def test_migrates_completely_runs_and_matches(name, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("chainer")
    source, out = ROOT / "fixtures" / name, tmp_path / "out"
    done = run("migrate", source, "-o", out)
    assert "left in the output: 0 references" in done.stderr, done.stderr
    assert " 0 manual" in done.stderr
    checked = run("check", out)
    assert (checked.returncode, checked.stdout) == (0, "")
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F,E9", out], capture_output=True, text=True
    )
    assert ruff.returncode == 0, ruff.stdout
    verified = run("verify", "script", source, out, "--", *COMPLETE[name])
    assert verified.returncode == 0 and "EQUAL:" in verified.stdout, verified.stdout
    assert not list(source.rglob("result")), "the source tree is left as it was"


@pytest.mark.parametrize("name", ["mlp_trainer", "cnn_loop", "ptb_rnn", "gan_updater", "v1_style"])
def test_output_is_python_and_a_second_run_changes_nothing(name, tmp_path):
    source, out = ROOT / "fixtures" / name, tmp_path / "out"
    assert run("migrate", source, "-o", out).returncode in (0, 1)
    for path in out.rglob("*.py"):
        compile(path.read_text(), str(path), "exec")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    again = run("migrate", out, "--write", "--force")
    assert again.returncode in (0, 1), again.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def comments(text):
    lines = [line for line in text.splitlines() if "#" in line and "# TODO(chainer2torch" not in line]
    return [line.split("#", 1)[1].strip() for line in lines]


@pytest.mark.parametrize("name", ["mlp_trainer", "cnn_loop", "ptb_rnn", "gan_updater", "v1_style"])
def test_comments_stay(name, tmp_path):
    source, out = ROOT / "fixtures" / name, tmp_path / "out"
    run("migrate", source, "-o", out)
    for path in source.rglob("*.py"):
        assert comments((out / path.relative_to(source)).read_text()) == comments(path.read_text())
