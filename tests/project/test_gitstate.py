"""--write replaces what git can give back; and asking git runs nothing that a repository brings."""

import os
import subprocess

import pytest

from chainer2torch.project import gitstate, output
from tests.project.test_input_output import NEW, OLD, in_place, tree


def git(folder, *arguments):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def src(tmp_path):
    src = tree(tmp_path / "src", a_py=OLD)
    git(src, "init")
    return src


def committed(src):
    git(src, "add", ".")
    git(src, "commit", "-m", "x")
    return src


def untracked(src):
    pass


def ignored(src):
    (src / ".git/info/exclude").write_text("a.py\n")


def edited(src):
    committed(src)
    (src / "a.py").write_bytes(OLD + b"#\n")


def assumed(src):
    edited(src)
    git(src, "update-index", "--assume-unchanged", "a.py")


def skipped(src):
    edited(src)
    git(src, "update-index", "--skip-worktree", "a.py")


def only_named(src):
    git(src, "add", "--intent-to-add", "a.py")


def same_size_and_time(src):
    committed(src)
    before = (src / "a.py").stat()
    git(src, "status")
    (src / "a.py").write_bytes(OLD.replace(b"x =", b"y ="))
    os.utime(src / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    git(src, "config", "core.checkStat", "minimal")
    git(src, "config", "core.trustctime", "false")


@pytest.mark.parametrize(
    "state, words",
    [
        (untracked, "untracked"),
        (ignored, "ignored"),
        (edited, "not committed"),
        (assumed, "assume-unchanged"),
        (skipped, "skip-worktree"),
        (only_named, "not committed"),
        (same_size_and_time, "not committed"),
    ],
)
def test_what_git_could_not_give_back_is_refused_by_name(src, state, words):
    state(src)
    before = (src / "a.py").read_bytes()
    with pytest.raises(output.UsageError, match=rf"--force(.|\n)*a\.py: .*{words}"):
        in_place(src)
    assert (src / "a.py").read_bytes() == before
    in_place(src, force=True)
    assert b"torch.new" in (src / "a.py").read_bytes()


def test_what_git_has_is_replaced(src):
    git(src, "add", "a.py")  # the index has it
    tree(src, untouched_py=b"1")  # not in git, but not ours to touch
    assert not in_place(src).problems and (src / "a.py").read_bytes() == NEW
    assert git(src, "show", ":a.py").encode() == OLD


@pytest.mark.parametrize("how", ["text=auto", "eol=crlf", "autocrlf"])
def test_line_ends_that_git_converts_are_no_change(src, how):
    if how == "autocrlf":
        git(src, "config", "core.autocrlf", "true")
    else:
        (src / ".gitattributes").write_text(f"*.py {how}\n")
    (src / "a.py").write_bytes(OLD.replace(b"\n", b"\r\n"))
    committed(src)
    assert "\r" not in git(src, "cat-file", "-p", ":a.py")
    assert gitstate.not_recoverable([src / "a.py"]) == {}
    (src / "a.py").write_bytes(OLD.replace(b"\n", b"\r\n") + b"#\r\n")
    assert list(gitstate.not_recoverable([src / "a.py"]).values()) == [gitstate.CHANGED]


def test_line_ends_that_git_does_not_convert_are_a_change(src):
    committed(src)
    (src / "a.py").write_bytes(OLD.replace(b"\n", b"\r\n"))
    assert list(gitstate.not_recoverable([src / "a.py"]).values()) == [gitstate.CHANGED]


def test_odd_names_sub_folders_and_links(tmp_path):
    odd = tree(tmp_path / "r", **{"sub/ö x.txt": b"1", "sub/b": b"2", "sub/[a]*": b"3"})
    (odd / "link").symlink_to("sub/b")
    git(odd, "init")
    paths = [odd / "sub/ö x.txt", odd / "sub/b", odd / "sub/[a]*"]
    assert sorted(gitstate.not_recoverable([*paths, odd / "link"])) == sorted(paths)
    committed(odd)
    assert gitstate.not_recoverable([*paths, odd / "link"]) == {}
    assert gitstate.not_recoverable([tmp_path / "elsewhere"]) == {}


def test_another_kind_of_repository(tmp_path):
    src = tree(tmp_path / "src", a_py=OLD)
    git(src, "init", "--object-format=sha256")
    committed(src)
    assert gitstate.not_recoverable([src / "a.py"]) == {}


def test_without_git_it_is_said(src, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(output.UsageError, match="git cannot be run.*--force"):
        in_place(src)


def test_nothing_of_a_hostile_repository_runs(src, tmp_path, monkeypatch):
    """Every setting that names a program writes a canary; a plain `git status` shows that the trap works."""
    committed(src)
    canary = tmp_path / "canary"
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{canary}'\ncat\n")
    trap.chmod(0o755)
    (src / ".gitattributes").write_text("*.py filter=evil diff=evil text=auto merge=evil\n")
    hooks = src / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        (hooks / hook).write_bytes(trap.read_bytes())
        (hooks / hook).chmod(0o755)
    settings = {
        "core.fsmonitor": trap,
        "core.pager": trap,
        "core.editor": trap,
        "core.sshCommand": trap,
        "core.gitProxy": trap,
        "core.alternateRefsCommand": trap,
        "core.hooksPath": hooks,
        "core.worktree": tmp_path,
        "filter.evil.clean": trap,
        "filter.evil.smudge": trap,
        "filter.evil.process": trap,
        "filter.evil.required": "true",
        "diff.evil.textconv": trap,
        "diff.evil.command": trap,
        "diff.external": trap,
        "merge.evil.driver": trap,
        "credential.helper": trap,
        "uploadpack.packObjectsHook": trap,
        **{f"alias.{name}": f"!{trap}" for name in ("status", "ls-files", "config", "x")},
    }
    for key, value in settings.items():
        git(src, "config", "-f", ".git/config", key, str(value))
    (src / "a.py").write_bytes(OLD + b"# edited\r\n")
    subprocess.run(["git", "--work-tree=.", "status"], cwd=src, capture_output=True, check=False)
    assert canary.exists(), "the trap works"
    canary.unlink()
    with pytest.raises(output.UsageError, match="not committed"):
        in_place(src)
    (src / "a.py").write_bytes(OLD)
    assert not in_place(src).problems and (src / "a.py").read_bytes() == NEW
    assert not canary.exists(), canary.read_text()
