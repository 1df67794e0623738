"""Machine-readable formats: JSON, SARIF and GitHub's annotations, against schemas and by value."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.plan.site import Mention, Site
from chainer2torch.report import baseline, formats, verification
from chainer2torch.report.launch import launch_command
from chainer2torch.report.model import MIGRATED, FileRow, Report
from tests.support import reports
from tests.support.sarif_schema import validate_sarif

ROOT = Path(__file__).parents[2]


def validate(document, schema: Path):
    schema = json.loads(schema.read_text())
    jsonschema.validators.validator_for(schema).check_schema(schema)
    jsonschema.validate(document, schema)


# -- JSON ----------------------------------------------------------------------------------------------------------

JSON_SCHEMA = ROOT / "docs/report.schema.json"


def test_json_fits_its_schema():
    document = json.loads(formats.render("json", reports.report(), reports.extras()))
    validate(document, JSON_SCHEMA)
    validate(json.loads(formats.render("json", Report(), reports.extras())), JSON_SCHEMA)
    assert document["totals"] == {"files": 5, "sites": 4, "exact": 1, "close": 1, "review": 1, "manual": 1}


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(version=2),
        lambda d: d.pop("totals"),
        lambda d: d["files"][0].update(status="what"),
        lambda d: d["files"][0]["sites"][0].update(state="unknown"),
        lambda d: d["files"][0]["sites"][0].update(line=0),
        lambda d: d.update(more=1),
        lambda d: d["files"][0]["sites"][0].update(code="C2T1"),
    ],
)
def test_the_json_schema_can_fail(damage):
    document = json.loads(formats.render("json", reports.report(), reports.extras()))
    damage(document)
    with pytest.raises(jsonschema.ValidationError):
        validate(document, JSON_SCHEMA)


@pytest.mark.parametrize(
    "name, shown",
    [
        ("json", '"where": "comment"'),
        ("text", "a.py:3:5: named in a comment: chainer.links"),
        ("markdown", "- `a.py:3` `chainer.links` (comment)"),
        ("html", "<code>chainer.links</code> comment"),
    ],
)
def test_names_in_strings_and_comments(name, shown):
    report = Report([FileRow("a.py", MIGRATED, mentions=(Mention(3, 5, "chainer.links", "comment"),))])
    text = formats.render(name, report, reports.extras())
    assert shown in text and shown not in formats.render(name, Report(), reports.extras())
    if name == "json":
        document = json.loads(text)
        validate(document, JSON_SCHEMA)
        assert document["mentions"] == 1 and document["files"][0]["mentions"][0]["symbol"] == "chainer.links"
        assert document["totals"]["sites"] == 0


# -- SARIF ---------------------------------------------------------------------------------------------------------


def sarif(report=None, **options):
    return json.loads(formats.render("sarif", report or reports.report(), reports.extras(**options)))


def test_sarif_fits_the_schema_of_oasis():
    validate_sarif(sarif())
    validate_sarif(sarif(Report()))
    validate_sarif(sarif(reports.large(20, 40)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.update(version="2.0.0"),
        lambda d: d.pop("runs"),
        lambda d: d["runs"][0].pop("tool"),
        lambda d: d["runs"][0]["results"][0].update(level="bad"),
        lambda d: d["runs"][0]["results"][0].update(more=1),
        lambda d: d["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
    ],
)
def test_the_sarif_schema_can_fail(damage):
    document = sarif()
    damage(document)
    with pytest.raises(jsonschema.ValidationError):
        validate_sarif(document)


@pytest.mark.parametrize("command", ["report", "check"])
def test_sarif_of_the_fixtures_fits_the_schema(command, tmp_path):
    (tmp_path / "broken.py").write_text("import chainer\nx = (\n")
    out = tmp_path / "out.sarif"
    done = CliRunner().invoke(
        cli,
        [
            command,
            str(ROOT / "fixtures"),
            str(tmp_path),
            "--format",
            "sarif",
            *(["-o", str(out)] if command == "report" else []),
        ],
        standalone_mode=False,
    )
    document = json.loads(out.read_text() if command == "report" else done.stdout)
    assert done.return_value == 2 and document["runs"][0]["results"], done.output
    assert document["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    validate_sarif(document)


def test_sarif_results():
    run = sarif()["runs"][0]
    assert [(r["ruleId"], r["level"], r["properties"]["state"]) for r in run["results"]] == [
        ("C2T200", "warning", "review"),
        ("C2T090", "error", "manual"),
        ("C2T100", "note", "close"),
    ]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    hard = run["results"][1]
    assert hard["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20%26%20b/net.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 6, "startColumn": 12},
    }, "columns in characters"
    assert hard["message"]["text"].startswith("chainer.hard: manual. a reason with")
    assert hard["message"]["text"].endswith("write it anew.")
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "syntax error: <here>"


def test_sarif_of_check_has_every_site():
    looked = dataclasses.replace(reports.report(), migrated=False)
    assert len(sarif(looked)["runs"][0]["results"]) == 4


def test_fingerprints_stay_when_lines_move():
    def prints(report):
        return [r["partialFingerprints"]["chainer2torch/v1"] for r in sarif(report)["runs"][0]["results"]]

    def moved(row):
        sites = tuple(dataclasses.replace(site, line=site.line + 2) for site in row.sites)
        return dataclasses.replace(row, before="# one\n# two\n" + row.before, sites=sites)

    report = reports.report()
    again = Report([moved(report.files[0]), *report.files[1:]])
    assert prints(report) == prints(again)
    twice = Report([dataclasses.replace(report.files[0], sites=(reports.HARD, reports.HARD))])
    first, second = prints(twice)
    assert first != second


def test_sarif_says_what_is_new(tmp_path):
    old = tmp_path / "old.json"
    old.write_text(formats.render("json", reports.report(), reports.extras()))
    other = dataclasses.replace(reports.HARD, symbol="chainer.other")
    report = reports.report(other)
    document = sarif(report, comparison=baseline.compare(report, old))
    validate_sarif(document)
    assert [r["baselineState"] for r in document["runs"][0]["results"]] == [
        "unchanged",
        "unchanged",
        "new",
        "unchanged",
    ], "what needs nobody is not news"


# -- GitHub --------------------------------------------------------------------------------------------------------


def test_github_annotations():
    lines = formats.render("github", reports.report(), reports.extras()).splitlines()
    assert lines[0] == "::error file=bad.py,line=3,title=chainer2torch C2T004::syntax error: <here>"
    assert lines[1].startswith("::error file=a & b/net.py,line=6,col=12,title=chainer2torch C2T090 (manual)::")
    assert "100 %25" in lines[1], "a per cent sign is escaped"
    assert lines[2].startswith("::warning ") and len(lines) == 3


# -- baseline ------------------------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(formats.render("json", reports.report(), reports.extras()))
    return path


def test_nothing_new_and_something_gone(old):
    same = baseline.compare(reports.report(), old)
    assert (same.new, same.known, same.gone) == ((), 2, 0)
    fewer = reports.report()
    fewer.files[0] = dataclasses.replace(fewer.files[0], sites=(reports.TO_GPU,))
    gone = baseline.compare(fewer, old)
    assert (gone.new, gone.known, gone.gone) == ((), 1, 1) and "1 gone" in gone.line()


def test_a_moved_leftover_is_known_a_second_one_new(old):
    moved = dataclasses.replace(reports.HARD, line=60)
    report = reports.report(moved)
    new = baseline.compare(report, old).new
    assert [site.line for _, site in new] == [60], "the one at its old place is the known one"
    report = reports.report()
    report.files[0] = dataclasses.replace(report.files[0], sites=(moved,))
    assert not baseline.compare(report, old).new


def test_what_got_worse_is_new(old):
    report = reports.report()
    worse = dataclasses.replace(reports.LINEAR, state="manual")
    report.files[0] = dataclasses.replace(report.files[0], sites=(worse,))
    assert [site.symbol for _, site in baseline.compare(report, old).new] == ["chainer.links.Linear"]


@pytest.mark.parametrize(
    "content, words",
    [(None, "cannot be read"), ("{", "not JSON"), ("[]", "version 1"), ('{"version": 1, "files": [{}]}', "version 1")],
)
def test_a_wrong_baseline_is_refused(tmp_path, content, words):
    path = tmp_path / "old.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(baseline.BaselineError, match=words):
        baseline.compare(reports.report(), path)


# -- results of verify ---------------------------------------------------------------------------------------------

JUNIT = """<?xml version="1.0"?><testsuites><testsuite name="s">
<testcase classname="relu" name="one"/><testcase classname="relu" name="two"><failure message="differs"/></testcase>
<testcase classname="tanh" name="one"><skipped message="no GPU"/></testcase></testsuite></testsuites>"""


def test_junit_results(tmp_path):
    path = tmp_path / "r.xml"
    path.write_text(JUNIT)
    assert verification.read(path) == (
        verification.Check("relu", 1, 1, 0, "two: differs"),
        verification.Check("tanh", 0, 0, 1, "one: no GPU"),
    )


@pytest.mark.parametrize(
    "content", ["", "x", "{}", '{"version": 2}', "<html/>", '<!DOCTYPE x [<!ENTITY a "b">]><testsuites/>']
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "r.xml"
    path.write_text(content)
    with pytest.raises(verification.VerificationError, match="neither JUnit"):
        verification.read(path)


# -- how programs are started that run in several processes ----------------------------------------------------------


def test_the_report_says_how_to_start_several_processes():
    assert "torchrun" not in formats.render("text", reports.report(), reports.extras())
    made = Site(7, 1, "chainermn.create_communicator", "exact", "C2T700", "")
    one = reports.report(made)
    line = "torchrun --nproc_per_node N a & b/net.py"
    assert f"\nstart in N processes: {line}\n" in formats.render("text", one, reports.extras())
    assert f"Start in N processes: `{line}`" in formats.render("markdown", one, reports.extras())
    many = Report([FileRow(f"{name}.py", MIGRATED, (made,)) for name in "gfedcba"])
    assert launch_command(many) == "torchrun --nproc_per_node N SCRIPT (a.py, b.py, c.py, d.py, e.py, ...)"
