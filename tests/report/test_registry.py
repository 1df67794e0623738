"""When a report format is done: every file in chainer2torch/report/formats is tried here, under its own name."""

import html
import importlib.util
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.cli.command import FormatName
from chainer2torch.plan.site import Mention
from chainer2torch.project.files import FileError
from chainer2torch.report import baseline, formats, verification
from chainer2torch.report.model import ERROR, FileRow, Report
from tests.support import reports

ROOT = Path(__file__).parents[2]
NAMES = formats.names()
NEW = reports.HARD.__class__(6, 14, "chainer.other", "manual", "C2T090", "<new> & \\ | `odd`")


def words(text, media):
    """The texts of a rendered report, in one string, as a program reads them that knows the media type."""
    if media.endswith("json"):
        found = []

        def collect(value):
            if isinstance(value, (dict, list)):
                for item in value.values() if isinstance(value, dict) else value:
                    collect(item)
            else:
                found.append(unquote(str(value)))

        collect(json.loads(text))
        return "\n".join(found)
    if media.endswith("xml"):
        return "\n".join(
            piece for node in ElementTree.fromstring(text).iter() for piece in (*node.attrib.values(), node.text or "")
        )
    if media == "text/html":
        return html.unescape(re.sub(r"\\u00([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text))
    assert media.startswith("text/"), f"say here how {media} is read"
    return text


def comparison(report, tmp_path):
    path = tmp_path / "old.json"
    path.write_text(formats.render("json", reports.report(), reports.extras()))
    return baseline.compare(report, path)


@pytest.mark.parametrize("name", NAMES)
def test_its_description(name):
    form = formats.get(name)
    assert re.fullmatch(r"[a-z][a-z0-9-]*", name) and re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", form.media)
    assert form.help[0].isupper() or form.help.startswith(name), "a sentence"
    assert form.help.endswith(".") and len(form.help) < 120 and "\n" not in form.help
    assert all(ending == ending.lower() and "." in ending for ending in form.endings)
    assert all(formats.format_of(f"Report{ending.upper()}") == name for ending in form.endings), "its own endings"


@pytest.mark.parametrize("name", NAMES)
def test_it_shows_what_a_person_has_to_see_to(name, tmp_path):
    form, report = formats.get(name), reports.report()
    shown = words(form.render(report, reports.extras()), form.media)
    for text in ("a & b/net.py", "C2T200", "C2T090", "chainer.hard", "chainer.Link.to_gpu", "bad.py", "100 "):
        assert text in shown or text in html.unescape(shown) or text in unquote(shown), (name, text)
    for row, site in report.leftovers():
        assert str(site.line) in shown and row.path in shown
    newer = reports.report(NEW)
    shown = words(form.render(newer, reports.extras(comparison=comparison(newer, tmp_path))), form.media)
    assert "chainer.other" in shown, "what is new since the baseline"


@pytest.mark.parametrize("name", NAMES)
def test_it_can_write_any_report(name, tmp_path):
    render, extras = formats.get(name).render, reports.extras()
    check = verification.Check("relu", 1, 1, 0, reports.HOSTILE, (("float32 value", 0.0),))
    hostile = Report(
        [
            FileRow("a\u2028b.py", ERROR),
            FileRow("c.py", "left", (NEW,), None, None, None, (Mention(1, 1, "chainer", "comment"),), (NEW,)),
        ],
        [FileError("C2T004", "a\u2028b.py", "a\nb"), FileError("C2T001", "nowhere", "does not exist")],
        migrated=False,
        notes=["<note>"],
    )
    for report in (Report(), reports.report(), reports.large(10, 40), hostile):
        for more in ({}, {"checks": (check,)}, {"comparison": comparison(report, tmp_path)}):
            text = render(report, reports.extras(**more))
            words(text, formats.get(name).media)
            assert text == render(report, reports.extras(**more)), "the same bytes each time"
            assert text.encode() and not text.endswith("\n\n") if text.strip() else not report.leftovers()
    assert render(reports.report(), extras) != render(Report(), extras)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_and_the_documents_know_it(name, tmp_path):
    form = formats.get(name)
    for command in ("report", "check"):
        text = " ".join(CliRunner().invoke(cli, [command, "--help"], terminal_width=300).output.split())
        assert f"{' '.join((name, *form.endings))} {form.help}" in text
    offered = FormatName().shell_complete(click.Context(cli), click.Option(["--format"]), name[:1])
    assert (name, form.help) in [(item.value, item.help) for item in offered]
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert f"| `{name}` |" in generate.formats_page() and form.help in generate.formats_page()
    (tmp_path / "net.py").write_text("import chainer\nchainer.no_such_thing()\n")
    printed = CliRunner().invoke(cli, ["report", str(tmp_path), "--format", name], standalone_mode=False)
    assert printed.return_value == 1 and "C2T" in printed.stdout, printed.output
    for ending in form.endings:
        CliRunner().invoke(cli, ["report", str(tmp_path), "-q", "-o", str(tmp_path / f"x{ending}")])
        assert (tmp_path / f"x{ending}").read_text() == printed.stdout


def test_two_formats_share_no_ending():
    every = [ending for form in formats.every().values() for ending in form.endings]
    assert len(every) == len(set(every)) and len(NAMES) >= 8


def test_a_format_is_one_file(tmp_path, monkeypatch):
    """What a newcomer does: one file more, and it is there everywhere."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new/lines.py").write_text(
        "from chainer2torch.report.formats import Format\n"
        "FORMAT = Format(help='Counts sites.', media='text/plain', endings=('.count',),\n"
        "                render=lambda report, extras: f'{sum(1 for site in report.sites)} sites\\n')\n"
    )
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "new")])
    monkeypatch.delitem(sys.modules, "chainer2torch.report.formats.lines", raising=False)
    (tmp_path / "net.py").write_text("import chainer\nchainer.no_such_thing()\n")
    run = CliRunner().invoke
    assert "Counts sites." in run(cli, ["report", "--help"]).output
    assert run(cli, ["check", str(tmp_path / "net.py"), "-q", "--format", "lines"]).stdout == "1 sites\n"
    run(cli, ["report", str(tmp_path / "net.py"), "-q", "-o", str(tmp_path / "x.count")])
    assert (tmp_path / "x.count").read_text() == "1 sites\n"
    refused = run(cli, ["report", str(tmp_path), "-o", "x.doc"], standalone_mode=False)
    assert ".count" in str(refused.exception) and "lines" in run(cli, ["check", ".", "--format", "x"]).stderr
    sys.modules.pop("chainer2torch.report.formats.lines")
