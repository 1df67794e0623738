"""pre-commit and the GitHub action, run as they are; and how fast a file without Chainer is let through."""

import os
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
    assert done.returncode == 1 and "without a question: easy.py" in done.stdout, done.stdout
    (work / ".pre-commit-config.yaml").write_text(config % "chainer2torch-migrate")
    done = run()
    assert done.returncode == 1 and "files were modified by this hook" in done.stdout, done.stdout
    assert "import torch.nn.functional as F" in (work / "easy.py").read_text()
    git(work, "add", ".")
    assert run().returncode == 0, "migrated once is migrated"
    (work / ".pre-commit-config.yaml").write_text(config % "chainer2torch-check")
    assert run().returncode == 0


def test_a_file_without_chainer_is_answered_before_anything_large_is_imported(tmp_path):
    """What is not imported costs nothing: no clock of a machine that is busy is asked. benchmarks/ has the times."""
    (tmp_path / "clean.py").write_text(CLEAN * 50)
    command = [sys.executable, "-X", "importtime", "-m", "chainer2torch", "check", "-q", "clean.py"]
    done = subprocess.run(command, cwd=tmp_path, check=True, env=environment(), capture_output=True, text=True)
    imported = {row.rpartition("|")[2].strip().split(".")[0] for row in done.stderr.splitlines() if "|" in row}
    assert "chainer2torch" in imported and not imported & {"libcst", "rich", "numpy", "torch", "tomlkit", "jinja2"}


NET = """\
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n_out):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 100)

    def forward(self, x):
        return F.relu(self.l1(x))


def loss(model, x, t):
    return F.softmax_cross_entropy(model(x), t)
"""


def test_an_unchanged_project_is_not_looked_at_again(tmp_path):
    """The hook as it is called, on sources of Chainer and on what they become; nothing is printed of what is done.

    Of a run that looks at nothing Python lists no import of the analysis.
    """
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]["entry"].split()[1:]
    work = tmp_path / "work"
    for i in range(200):
        folder = work / f"part{i % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"net{i}.py").write_text(NET.replace("100", str(100 + i)))
    (work / "hard.py").write_text(HARD)
    surroundings = environment(CHAINER2TORCH_CACHE_DIR=str(tmp_path / "cache"), PYTHONPROFILEIMPORTTIME="1")

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "chainer2torch", *arguments],
            cwd=work,
            text=True,
            capture_output=True,
            env=surroundings,
        )
        return done, "chainer2torch.analysis.flow\n" in done.stderr

    assert run(*hook)[1]
    done, looked = run(*hook)
    asked, rest = done.stdout.splitlines()
    assert asked.startswith("hard.py:") and " manual " in asked and done.returncode == 1 and not looked
    assert rest.startswith("`chainer2torch migrate --write` rewrites ") and rest.endswith(" and 190 more")
    run("migrate", "--write", "--force", "--quiet", ".")
    assert run(*hook)[1]
    done, looked = run(*hook)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["hard.py"] and not looked


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
