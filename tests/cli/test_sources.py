"""Which files are looked at: what git ignores is not, the standard input is."""

import subprocess

import pytest

from chainer2torch.project import ignored
from tests.cli.test_cli import EASY, HARD, run
from tests.support import command_line


def piped(text, *arguments, cwd):
    return command_line.run(*arguments, text=text, cwd=cwd, env=command_line.PLAIN)


def test_standard_input_is_a_filter(tmp_path):
    done = piped(EASY, "migrate", "-", cwd=tmp_path)
    assert done.returncode == 0 and "import torch.nn.functional as F" in done.stdout and "---" not in done.stdout
    assert piped(done.stdout, "migrate", "-", cwd=tmp_path).stdout == done.stdout
    assert piped("", "migrate", "-", cwd=tmp_path).stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_standard_input_with_trouble(tmp_path):
    bad = piped("import chainer\n(\n", "migrate", "-", "--stdin-filename", "a/b.py", cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "import chainer\n(\n") and "a/b.py:2: C2T004" in bad.stderr
    assert piped(HARD, "migrate", "-", cwd=tmp_path).returncode == 1
    assert piped(EASY, "migrate", "-", "-o", "out", cwd=tmp_path).returncode == 2
    assert piped(EASY, "check", "-", ".", cwd=tmp_path).returncode == 2
    helped = piped("import chainer\nm = chainer.config.train\n", "migrate", "-", cwd=tmp_path)
    assert "chainer_compat" in helped.stdout and "writes that module" in helped.stderr


def test_standard_input_for_check_report_and_diff(tmp_path):
    assert piped(EASY, "check", "-", "--stdin-filename", "x/net.py", cwd=tmp_path).stdout.startswith("x/net.py:5:12: ")
    assert piped(EASY, "report", "-", cwd=tmp_path).stdout.startswith("stdin.py:5:12: ")
    diff = piped(EASY, "migrate", "-", "--diff", cwd=tmp_path).stdout
    assert diff.startswith("--- a/stdin.py\n+++ b/stdin.py\n")


IGNORES = {
    ".gitignore": "/build/\n*_gen.py\n!keep_gen.py\n# x\n",
    "sub/.gitignore": "local.py\n!again_gen.py\n",
}
FILES = [
    "a.py",
    "x_gen.py",
    "keep_gen.py",
    "build/b.py",
    "sub/local.py",
    "sub/other.py",
    "sub/again_gen.py",
    "sub/build/c.py",
    "sub/deep/local.py",
    "local.py",
]


@pytest.fixture
def repository(tmp_path):
    for name, text in {**IGNORES, **dict.fromkeys(FILES, EASY)}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_the_same_files_as_git(repository):
    listed = subprocess.run(
        ["git", "ls-files", "-oc", "--exclude-standard", "*.py"],
        cwd=repository,
        text=True,
        capture_output=True,
        check=True,
    ).stdout.split()
    found = ignored.matcher(repository, [*IGNORES, *FILES])
    assert sorted(path for path in FILES if not found(path)) == sorted(listed) and len(listed) < len(FILES)
    below = ignored.matcher(repository / "sub", [".gitignore", "local.py"])
    assert below("local.py") and below("x_gen.py") and not below("build/c.py"), "patterns from above count"
    named = ignored.matcher(repository / "build", [])
    assert not named("b.py"), "an ignored folder that is named is looked at"


def test_ignored_files_are_copied_and_not_migrated(repository, tmp_path_factory):
    out = tmp_path_factory.mktemp("o") / "out"
    run("migrate", repository, "-o", out)
    assert (out / "build/b.py").read_text() == EASY and (out / "a.py").read_text() != EASY
    assert "\nbuild/b.py" not in run("check", ".", cwd=repository).stdout
    assert "build/b.py" in run("check", ".", "--no-gitignore", cwd=repository).stdout
    assert "build/b.py" in run("check", "build", cwd=repository).stdout


def test_ignored_files_that_others_import_are_migrated(repository, tmp_path_factory):
    out = tmp_path_factory.mktemp("o") / "out"
    (repository / "train.py").write_text("import chainer\nfrom build import b, nothing\nfrom sub.deep.local import x\n")
    (repository / "build/b.py").write_text("from .c import x\n" + EASY)
    (repository / "build/c.py").write_text(EASY)
    (repository / "build/d.py").write_text(EASY)
    done = run("migrate", repository, "-o", out)
    stays = [path for path in (*FILES, "build/c.py", "build/d.py") if "chainer" in (out / path).read_text()]
    assert stays == ["x_gen.py", "sub/local.py", "build/d.py"], done.stdout + done.stderr


def test_ignored_files_of_chainers_are_named(repository, tmp_path_factory):
    out = tmp_path_factory.mktemp("o") / "out"
    (repository / "build/plain.py").write_text("import os\n")
    done = run("migrate", repository, "-o", out)
    said = done.stdout + done.stderr
    assert "4 files use Chainer and stay so: .gitignore names them (--no-gitignore migrates them, too)" in said
    assert "build/b.py" in said and "plain.py" not in said
    again = run("check", ".", "--no-gitignore", cwd=repository)
    assert "stay so" not in again.stdout + again.stderr
    excluded = run("check", ".", "--exclude", "build", "--exclude", "*.py", "--exclude", "!x_gen.py", cwd=repository)
    assert "1 file uses Chainer and stays so: .gitignore names it" in excluded.stdout + excluded.stderr
