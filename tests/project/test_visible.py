"""Names that steer a terminal, add lines to a log or turn the text around reach no output as they are."""

import json
import subprocess

import pytest

from chainer2torch.project import output, patches, scan
from chainer2torch.project.files import FileError
from chainer2torch.project.visible import quoted, visible, visible_lines
from chainer2torch.report import formats
from chainer2torch.report.extras import Extras
from tests.cli.test_cli import run
from tests.project.fakes import Engine

EVIL = "a\n::error::hacked\x1b[31m\u202egnp.\r<b>|`.py"
RAW = ("\n::error::hacked", "\x1b", "\u202e", "\r")


@pytest.mark.parametrize(
    "name, shown",
    [
        ("ordinary/näme 模型\u3000.py", "ordinary/näme 模型\u3000.py"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b]0;title\x07\x9b", r"\x1b]0;title\x07\x9b"),
        ("\u202e\u200b\u2028\ufeff", r"\u202e\u200b\u2028\ufeff"),
        ("\udcff.py", r"\xff.py"),
    ],
)
def test_what_is_not_printable_is_an_escape(name, shown):
    assert visible(name) == shown
    assert visible(shown) == shown


def test_lines_stay_where_they_are_meant():
    assert visible_lines("one\n\ttwo\x1b[0m\r") == "one\n\ttwo\\x1b[0m\\r"


@pytest.fixture
def project(tmp_path):
    (tmp_path / EVIL).write_bytes(b"x = chainer.hard\ny = chainer.old\n")
    (tmp_path / ("bad" + EVIL)).write_bytes(b"import chainer\nx = (\n")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html", "sarif", "github"])
def test_no_format_of_the_report_has_them(project, form):
    found = scan.collect([project])
    scan.analyse(found, Engine())
    text = formats.render(form, found.report(migrated=True), Extras(lambda symbol: ""))
    assert "hacked" in text
    for raw in RAW:
        assert raw not in text.replace("\r\n", "\n")
    if form == "github":
        assert all(line.startswith("::") for line in text.splitlines())
    if form in ("json", "sarif"):
        json.loads(text)


def test_the_terminal_gets_none_of_them(project):
    for arguments in (["check", "."], ["migrate", "."], ["check", "--kinds", "."], ["migrate", "nowhere\x1b[2J"]):
        done = run(*arguments, cwd=project)
        assert "hacked" in done.stdout + done.stderr or "nowhere" in done.stderr
        for raw in RAW[:3]:
            assert raw not in done.stdout + done.stderr, arguments


def test_messages_of_files_have_none():
    assert str(FileError("C2T002", "a\nb", "is\x1b odd")) == r"a\nb: C2T002 is\x1b odd"


def test_a_patch_of_such_a_name_still_applies(tmp_path):
    path = tmp_path / 'a\n"b\\é.py'
    path.write_bytes(b"x = chainer.old\n")
    assert quoted("plain é.py") == "plain é.py"
    found = scan.collect([tmp_path])
    scan.analyse(found, Engine())
    found.trees[0].shown = ""
    text = b"".join(patches.patch(output.changes(found))).decode()
    subprocess.run(["git", "apply", "-p1", "-"], input=text.encode(), cwd=tmp_path, check=True)
    assert path.read_bytes() == b"x = torch.new\n"
