"""pre-commit and the GitHub action, run as they are; and how fast a file without Chainer is let through."""

import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.test_cli import CLEAN, EASY, HARD, ROOT


def environment(**more):
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "HOME": os.environ.get("HOME", "/"),
        **more,
    }


def git(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, env=environment()
    ).stdout


@pytest.fixture
def command(tmp_path):
    """A ``chainer2torch`` on the PATH, of this checkout."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "chainer2torch"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m chainer2torch "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


def scratch(tmp_path, files):
    work = tmp_path / "work"
    work.mkdir()
    for name, text in files.items():
        (work / name).write_text(text)
    git(work, "init", "-q")
    git(work, "add", ".")
    return work


# -- pre-commit ----------------------------------------------------------------------------------------------------


def test_the_hooks_are_valid():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["chainer2torch-check", "chainer2torch-migrate"]
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is not installed")
    clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")


def test_pre_commit_on_a_scratch_repository(tmp_path, command):
    """The hooks as pre-commit runs them; the environment that it would install is the one that runs the tests."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    text = (ROOT / ".pre-commit-hooks.yaml").read_text().replace("language: python", "language: system")
    (hooks / ".pre-commit-hooks.yaml").write_text(text)
    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "hooks")
    revision = git(hooks, "rev-parse", "HEAD").strip()
    config = f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: %s\n"
    work = scratch(
        tmp_path,
        {
            "clean.py": CLEAN,
            "easy.py": EASY,
            "data.txt": "chainer",
            ".pre-commit-config.yaml": config % "chainer2torch-check",
        },
    )
    more = {"PATH": f"{command}:{environment()['PATH']}", "PRE_COMMIT_HOME": str(tmp_path / "home")}

    def run():
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files"],
            cwd=work,
            text=True,
            capture_output=True,
            env=environment(**more),
            timeout=300,
        )

    done = run()
    assert done.returncode == 1 and "easy.py:5:12: C2T100 exact chainer.functions.relu" in done.stdout, done.stdout
    (work / ".pre-commit-config.yaml").write_text(config % "chainer2torch-migrate")
    done = run()
    assert done.returncode == 1 and "files were modified by this hook" in done.stdout, done.stdout
    assert "import torch.nn.functional as F" in (work / "easy.py").read_text()
    git(work, "add", ".")
    assert run().returncode == 0, "migrated once is migrated"
    (work / ".pre-commit-config.yaml").write_text(config % "chainer2torch-check")
    assert run().returncode == 0


def test_a_file_without_chainer_costs_less_than_150_ms(tmp_path):
    """Processor time, the best of five: the wall clock of a machine that is busy says nothing about us."""
    (tmp_path / "clean.py").write_text(CLEAN * 50)
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "chainer2torch", "check", "-q", "clean.py"],
            cwd=tmp_path,
            check=True,
            env=environment(),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.15, times


# -- the GitHub action ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    "files, inputs, status, annotated",
    [
        ({"clean.py": CLEAN}, {}, 0, False),
        ({"easy.py": EASY}, {}, 0, False),
        ({"hard.py": HARD}, {}, 1, True),
        ({"hard.py": HARD}, {"FAIL_UNDER": "0"}, 0, True),
        ({"hard.py": HARD, "easy.py": EASY}, {"PATHS": "easy.py clean.py", "FAIL_UNDER": "100"}, 2, True),
        ({"hard.py": HARD}, {"BASELINE": "base.json"}, 0, False),
        ({"bad.py": "import chainer\n(\n"}, {}, 2, True),
    ],
)
def test_the_action(tmp_path, command, files, inputs, status, annotated):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = next(step for step in action["runs"]["steps"] if step.get("name") == "Report")
    assert "${{" not in step["run"], "inputs reach the script as variables only"
    defaults = {name: action["inputs"][key.split(".")[1].rstrip(" }")]["default"] for name, key in step["env"].items()}
    work = scratch(tmp_path, files)
    shell = environment(**{**defaults, **inputs}, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    shell["PATH"] = f"{command}:{shell['PATH']}"
    if "BASELINE" in inputs:
        subprocess.run(["chainer2torch", "report", ".", "-o", "base.json"], cwd=work, env=shell)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=work,
        env=shell,
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert (work / "chainer2torch.html").is_file() and (work / "chainer2torch.sarif").is_file()
    assert "# chainer2torch" in (tmp_path / "summary.md").read_text()
    assert ("::error file=" in done.stdout) == annotated, done.stdout
