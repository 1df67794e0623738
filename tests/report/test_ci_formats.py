"""The formats that GitLab and other CI systems read: GitLab's code quality and JUnit XML, by schema and by value."""

import dataclasses
import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from chainer2torch.report import baseline, formats, verification
from chainer2torch.report.model import Report
from tests.support import reports

xmlschema = pytest.importorskip("xmlschema")
JUNIT = xmlschema.XMLSchema(Path(__file__).parents[1] / "support/junit.xsd")
# The fields that GitLab's manual lists for a code quality report; it needs all of them.
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "pattern": r"^C2T\d{3}$"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./|/)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "additionalProperties": False,
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def gitlab(report=None, **options):
    issues = json.loads(formats.render("gitlab", report or reports.report(), reports.extras(**options)))
    jsonschema.validate(issues, GITLAB)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues), "GitLab drops issues of equal fingerprints"
    return issues


def junit(report=None, **options):
    text = formats.render("junit", report or reports.report(), reports.extras(**options))
    JUNIT.validate(text)
    return ElementTree.fromstring(text)


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(formats.render("json", reports.report(), reports.extras()))
    return path


NEW = dataclasses.replace(reports.HARD, symbol="chainer.other")


def test_gitlab_issues():
    issues = gitlab()
    assert [
        (i["check_name"], i["severity"], i["location"]["path"], i["location"]["lines"]["begin"]) for i in issues
    ] == [
        ("C2T004", "blocker", "bad.py", 3),
        ("C2T200", "minor", "a & b/net.py", 5),
        ("C2T090", "major", "a & b/net.py", 6),
    ]
    assert issues[2]["description"].startswith("chainer.hard: manual. a reason with")
    assert issues[2]["description"].endswith("write it anew.")
    assert gitlab(Report()) == [] and len(gitlab(reports.large(20, 40))) == 80


def test_gitlab_knows_an_issue_whose_line_moved():
    report = reports.report()
    row = report.files[0]
    moved = tuple(dataclasses.replace(site, line=site.line + 2) for site in row.sites)
    again = Report([dataclasses.replace(row, before="#\n#\n" + row.before, sites=moved), *report.files[1:]])
    prints = [issue["fingerprint"] for issue in gitlab(report) if issue["check_name"] != "C2T004"]
    assert prints == [issue["fingerprint"] for issue in gitlab(again)]


def test_gitlab_shows_what_is_new(old):
    report = reports.report(NEW)
    assert [i["check_name"] for i in gitlab(report, comparison=baseline.compare(report, old))] == ["C2T004", "C2T090"]


def test_junit_cases():
    root = junit()
    suites = {suite.get("name"): suite for suite in root}
    assert set(suites) == {"a & b/net.py", "bad.py", "easy.py"}, "files with sites or problems"
    counts = {
        name: tuple(int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped"))
        for name, suite in suites.items()
    }
    assert counts == {"a & b/net.py": (3, 2, 0, 0), "bad.py": (1, 0, 1, 0), "easy.py": (1, 0, 0, 0)}
    assert [root.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["5", "2", "1", "0"]
    hard = suites["a & b/net.py"][2]
    assert hard.get("name") == "a & b/net.py:6:14 chainer.hard" and hard.get("line") == "6"
    assert hard[0].tag == "failure" and hard[0].get("type") == "C2T090 manual"
    assert reports.HOSTILE in hard[0].get("message") and hard[0].text.startswith("a & b/net.py:6:14: C2T090 ")


def test_junit_tells_sites_apart_that_begin_at_one_place():
    names = [case.get("name") for case in junit(reports.report(reports.HARD))[0]]
    assert names[2:] == ["a & b/net.py:6:14 chainer.hard", "a & b/net.py:6:14 chainer.hard (2)"]


def test_junit_skips_what_the_baseline_knows(old):
    report = reports.report(NEW)
    root = junit(report, comparison=baseline.compare(report, old))
    results = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert results["a & b/net.py:6:14 chainer.hard"] == ["skipped"]
    assert results["a & b/net.py:6:14 chainer.other"] == ["failure"]


def test_junit_is_what_the_report_itself_reads(tmp_path):
    path = tmp_path / "sites.xml"
    path.write_text(formats.render("junit", reports.report(), reports.extras()))
    found = {check.name: (check.passed, check.failed, check.unverified) for check in verification.read(path)}
    assert found == {"a & b/net.py": (1, 2, 0), "bad.py": (0, 1, 0), "easy.py": (1, 0, 0)}


def test_junit_without_what_xml_cannot_say():
    report = reports.report(dataclasses.replace(NEW, message="a bell \a and half a pair \ud800"))
    assert "a bell \N{REPLACEMENT CHARACTER} and half a pair \N{REPLACEMENT CHARACTER}" in junit(report)[0][3][0].get(
        "message"
    )
    assert len(junit(Report())) == 0 and junit(reports.large(20, 40)).get("tests") == "200"


@pytest.mark.parametrize(
    "damage",
    [
        lambda root: root[0].attrib.pop("tests"),
        lambda root: root[0][2].append(ElementTree.Element("skipped", message="no")),
        lambda root: root[0][0].set("line", "0"),
        lambda root: root[0].append(root[0][0]),
        lambda root: root[0][0].append(ElementTree.Element("what")),
    ],
)
def test_the_junit_schema_can_fail(damage):
    root = junit()
    damage(root)
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        JUNIT.validate(ElementTree.tostring(root, encoding="unicode"))
