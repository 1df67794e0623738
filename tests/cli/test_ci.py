"""What continuous integration uses: the ratchet, a share, annotations, code scanning."""

import json
import re

import pytest

from tests.cli.test_cli import EASY, HARD, run

OTHER = HARD + "chainer.another_thing_that_is_not()\n"


@pytest.fixture
def project(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    (src / "easy.py").write_text(EASY)
    (src / "hard.py").write_text(HARD)
    assert run("report", ".", "-o", "../base.json", cwd=src).returncode == 1
    return src


@pytest.mark.parametrize("command", ["report", "check"])
def test_the_ratchet(project, command):
    known = run(command, ".", "--baseline", "../base.json", cwd=project)
    assert known.returncode == 0 and "0 new" in known.stdout + known.stderr, known.stderr
    (project / "hard.py").write_text("# a line more\n" + HARD)
    assert run(command, ".", "--baseline", "../base.json", cwd=project).returncode == 0, "a line that moved is known"
    (project / "hard.py").write_text(OTHER)
    new = run(command, ".", "--baseline", "../base.json", cwd=project)
    assert new.returncode == 1 and "another_thing" in new.stdout and "no_such_thing" not in new.stdout
    (project / "bad.py").write_text("import chainer\n(\n")
    assert run(command, ".", "--baseline", "../base.json", cwd=project).returncode == 2


def test_the_share_is_compared_with_that_of_the_baseline(project):
    (project / "easy.py").write_text(EASY + "    return F.tanh(x)\n")
    done = run("report", ".", "--baseline", "../base.json", cwd=project)
    shares = re.search(r"(\d+\.\d) % need nobody, (\d+\.\d) % then", done.stderr + done.stdout)
    assert shares and float(shares[1]) > float(shares[2]) > 0
    checked = run("check", ".", "--baseline", "../base.json", cwd=project)
    assert "% then" not in checked.stderr, "of what was not migrated nothing is known"


def test_a_new_call_that_migrates_is_new_for_check_alone(project):
    (project / "easy.py").write_text(EASY + "    return F.tanh(x)\n")
    assert run("check", ".", "--baseline", "../base.json", cwd=project).returncode == 1
    assert run("report", ".", "--baseline", "../base.json", cwd=project).returncode == 0


def test_a_wrong_baseline(project):
    done = run("check", ".", "--baseline", "nowhere.json", cwd=project)
    assert done.returncode == 2 and "report PATH --format json" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["report", "check"])
def test_fail_under(project, command):
    assert run(command, ".", "--fail-under", "50", cwd=project).returncode == 0
    low = run(command, ".", "--fail-under", "50.1", cwd=project)
    assert low.returncode == 1 and "50.0 % of the sites are exact or close, less than 50.1 %" in low.stderr
    assert run(command, ".", "--fail-under", "101", cwd=project).returncode == 2


def test_annotations(project):
    report = run("report", ".", "--format", "github", cwd=project)
    assert report.stdout.startswith("::error file=hard.py,line=3,col=1,title=chainer2torch C2T090 (manual)::")
    assert report.stdout.count("\n") == 1
    check = run("check", ".", "--format", "github", cwd=project)
    assert check.stdout.splitlines()[1].startswith("::notice file=easy.py,line=5,col=12,")


def test_code_scanning(project):
    log = json.loads(run("report", ".", "--format", "sarif", cwd=project).stdout)
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert uri == {"uri": "hard.py", "uriBaseId": "SRCROOT"}
    inside = json.loads(run("check", project, "--format", "sarif", cwd=project).stdout)
    assert {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in inside["runs"][0]["results"]} == {
        "easy.py",
        "hard.py",
    }, "absolute paths below the current folder become relative"


def test_html(project):
    done = run("migrate", ".", "-o", "../out", "--report", "../r.html", "-q", cwd=project)
    text = (project / "../r.html").read_text()
    assert done.returncode == 1 and text.startswith("<!doctype html>") and "easy.py" in text
    again = run("report", ".", "--format", "html", cwd=project)
    assert again.stdout == text, "identical bytes"
    (project / "v.xml").write_text('<testsuite><testcase classname="relu" name="1"/></testsuite>')
    shown = run("report", ".", "--format", "html", "--verify", "v.xml", cwd=project).stdout
    assert "<code>relu</code>" in shown and "<code>relu</code>" not in text
    assert run("report", ".", "--format", "html", "--verify", "hard.py", cwd=project).returncode == 2


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "sarif", "github"])
def test_two_runs_give_identical_bytes(project, form):
    runs = {run("report", ".", "--format", form, "--baseline", "../base.json", cwd=project).stdout for _ in range(2)}
    assert len(runs) == 1


def test_results_of_verify(tmp_path):
    pytest.importorskip("chainer")
    done = run("verify", "rules", "chainer.functions.relu", "--no-matrix", "--report", tmp_path / "v.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "v.json").read_text())
    assert result["ok"] and result["checks"][0]["name"] == "chainer.functions.relu" and result["checks"][0]["errors"]


def test_one_run_in_several_formats(tmp_path):
    (tmp_path / "net.py").write_text("import chainer.functions as F\n\n\ndef f(x):\n    return F.no_such_function(x)\n")
    arguments = ["report", "net.py", "-o", "a.html", "-o", "a.sarif", "-o", "a.xml"]
    done = run(*arguments, cwd=tmp_path)
    assert (tmp_path / "a.html").read_text().lower().startswith("<!doctype html>")
    assert (
        '"version": "2.1.0"' in (tmp_path / "a.sarif").read_text() and "<testsuites" in (tmp_path / "a.xml").read_text()
    )
    assert "written: a.html, a.sarif, a.xml" in done.stderr and done.stdout == ""
    done = run(*arguments, "--print", "github", cwd=tmp_path)
    assert done.stdout.startswith("::error file=net.py,line=5")
    done = run(*arguments, "--format", "json", cwd=tmp_path)
    assert done.returncode == 2 and "--format is for one -o" in done.stderr
