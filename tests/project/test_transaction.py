"""--write is one transaction: killed at any moment and run again, it gives what one whole run gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.project import files, scan, transaction
from chainer2torch.project.files import FileError
from tests.cli.test_cli import run
from tests.project.test_input_output import NEW, OLD, in_place, tree

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked, and folders locked, on Unix")
EASY = b"import chainer.functions as F\ny = F.relu(x)\n"


class Killed(BaseException):
    """In the place of SIGKILL: nothing is tidied up after it, where the test sees to that."""


@pytest.fixture
def src(tmp_path):
    return tree(tmp_path / "src", a_py=OLD, b_py=OLD, **{"sub/c.py": OLD})


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def killed(src, monkeypatch, renames):
    """A run that was killed after so many renames: the first makes the journal, the second the decision."""
    real, count = os.replace, [0]

    def replace(*arguments):
        count[0] += 1
        if count[0] > renames:
            raise Killed
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        patched.setattr(transaction, "_take_back", lambda *_: None)
        patched.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(Killed):
            in_place(src)


def test_killed_at_any_step_and_run_again():
    """A sample; benchmarks/killed_writes.py runs many more."""
    command = [sys.executable, "benchmarks/killed_writes.py", "--trials", "20", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "20 trials" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("renames, expected", [(0, OLD), (1, OLD), (2, NEW), (3, NEW), (4, NEW)])
def test_before_the_decision_all_is_taken_back_and_after_it_finished(src, monkeypatch, renames, expected):
    before = names(src)
    killed(src, monkeypatch, renames)
    assert names(src) != before, "something was left"
    assert scan.collect([src]).interrupted() == [src] == scan.collect([src / "sub"]).interrupted()
    assert transaction.recover(src) == []
    assert names(src) == before
    assert {(src / name).read_bytes() for name in before} == {expected}
    assert scan.collect([src]).interrupted() == []


def test_what_was_edited_after_the_kill_stays(src, monkeypatch):
    killed(src, monkeypatch, 2)
    (src / "b.py").write_bytes(b"edited")
    problems = transaction.recover(src)
    assert [(problem.code, Path(problem.path).name) for problem in problems] == [("C2T007", "b.py")]
    assert [(src / name).read_bytes() for name in ("a.py", "b.py", "sub/c.py")] == [NEW, b"edited", NEW]
    assert names(src) == ["a.py", "b.py", "sub/c.py"]


def test_a_file_that_changed_between_preparing_and_renaming_is_left_alone(src, monkeypatch):
    real = transaction.Transaction.commit

    def commit(self):
        (src / "b.py").write_bytes(b"edited")
        return real(self)

    monkeypatch.setattr(transaction.Transaction, "commit", commit)
    found = in_place(src)
    assert [problem.code for problem in found.problems] == ["C2T007"] and "b.py" in found.problems[0].path
    assert [(src / name).read_bytes() for name in ("a.py", "b.py", "sub/c.py")] == [NEW, b"edited", NEW]
    assert names(src) == ["a.py", "b.py", "sub/c.py"]


def test_a_folder_that_takes_no_journal(src):
    src.chmod(0o555)
    real = transaction._write_journal

    def refuse(*arguments):
        raise FileError("C2T007", src, "cannot be written")

    transaction._write_journal = refuse
    try:
        found = in_place(src)
    finally:
        transaction._write_journal = real
        src.chmod(0o755)
    assert [problem.code for problem in found.problems] == ["C2T007"]
    assert {row.status for row in found.report(True).files} == {"error"}
    assert {(src / name).read_bytes() for name in names(src)} == {OLD}


@pytest.mark.parametrize(
    "content",
    [
        "not json",
        "{}",
        "[]",
        json.dumps({"version": 1, "decided": False, "names": ["../victim.py"], "files": []}),
        json.dumps({"version": 1, "decided": False, "names": ["/etc/x"], "files": []}),
        json.dumps({"version": 1, "decided": False, "names": ["link/victim.py"], "files": []}),
        json.dumps({"version": 1, "decided": False, "names": [1], "files": []}),
        json.dumps({"version": 9, "decided": False, "names": ["a.py"], "files": []}),
        json.dumps(
            {"version": 1, "decided": True, "files": [{"name": "../v.py", "old": None, "new": "0", "needs": []}]}
        ),
    ],
)
def test_a_journal_that_somebody_else_wrote_reaches_nothing_outside(src, tmp_path, content):
    outside = tmp_path / "outside"
    outside.mkdir()
    (src / "link").symlink_to(outside)
    for folder in (tmp_path, outside):
        (transaction._temporary(folder / "victim.py")).write_bytes(b"x")
    (src / files.JOURNAL).write_text(content)
    with pytest.raises(FileError, match="no journal of chainer2torch.*remove it"):
        transaction.recover(src)
    for folder in (tmp_path, outside):
        assert transaction._temporary(folder / "victim.py").exists()


def test_commands_that_only_read_do_not_read_half_a_result(src, monkeypatch):
    killed(src, monkeypatch, 3)
    done = run("check", "sub", cwd=src)
    assert done.returncode == 2 and "migrate --write` was killed here" in done.stderr
    assert (src / "sub/c.py").read_bytes() == OLD
    done = run("migrate", "sub", "--write", cwd=src)
    assert "an interrupted --write was finished" in done.stderr
    assert (src / "sub/c.py").read_bytes().endswith(b"x = torch.new\n") and names(src) == ["a.py", "b.py", "sub/c.py"]


@pytest.mark.parametrize("held, wanted", [("src", "src"), ("src/sub", "src"), ("src", "src/sub"), ("src", "src/a.py")])
def test_two_runs_at_once_exclude_each_other(src, tmp_path, held, wanted):
    program = (
        "import sys, time; from pathlib import Path; from chainer2torch.project import transaction\n"
        "with transaction.locked([Path(sys.argv[1])]): print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / held],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert other.stdout.readline() == "locked\n"
        before = names(src)
        done = run("migrate", tmp_path / wanted, "--write")
        assert done.returncode == 2 and "another `chainer2torch migrate --write` works here" in done.stderr
        assert names(src) == before and (src / "a.py").read_bytes() == OLD
        assert run("migrate", tree(tmp_path / "beside", a_py=EASY), "--write").returncode == 0
    finally:
        other.kill()
        other.communicate()
    assert run("migrate", tmp_path / wanted, "--write").returncode != 2, "the lock ended with its process"


def test_a_process_that_outlives_a_killed_run_does_not_hold_its_lock(src):
    with transaction.locked([src]):
        child = os.fork()
        if not child:
            import time

            time.sleep(30)
            os._exit(0)
    try:
        done = run("migrate", src, "--write")
        assert done.returncode != 2, done.stderr
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_a_file_that_is_asked_for_twice_is_written_once(tmp_path):
    src = tree(tmp_path / "src", a_py=EASY)
    done = run("migrate", src, src / "a.py", "--write")
    assert done.returncode == 0, done.stderr
    assert names(src) == ["a.py"] and b"torch" in (src / "a.py").read_bytes()
