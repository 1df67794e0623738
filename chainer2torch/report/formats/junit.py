"""JUnit XML, which nearly every CI system shows as tests: a suite for each file, a test case for each site.

The cases are written as the schemas of Jenkins and of Maven's Surefire have them: at most one failure in a case.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

from chainer2torch.report.annotations import to_see_to, wording
from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import FileRow, Report

# XML 1.0 has no place for these, not even escaped
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, extras: Extras) -> str:
    """What needs a person is a failure; with a baseline, what it knows already is skipped."""
    wanted = {id(site) for _, site in to_see_to(report, extras)}
    open_sites = {id(site) for _, site in report.leftovers()}
    root = ElementTree.Element("testsuites", name="chainer2torch")
    for row in report.files:
        problems = [problem for problem in report.problems if problem.path == row.path]
        if row.sites or problems:
            suite = ElementTree.SubElement(root, "testsuite", name=_text(row.path))
            for problem in problems:
                _problem(suite, problem.path, problem.line, problem.code, problem.message)
            _sites(suite, row, wanted, open_sites, extras)
            _count(suite)
    known = {row.path for row in report.files}
    others = [problem for problem in report.problems if problem.path not in known]
    if others:
        suite = ElementTree.SubElement(root, "testsuite", name="files that cannot be handled")
        for problem in others:
            _problem(suite, problem.path, problem.line, problem.code, problem.message)
        _count(suite)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _sites(suite: ElementTree.Element, row: FileRow, wanted: set[int], open_sites: set[int], extras: Extras) -> None:
    seen: Counter[str] = Counter()
    for site in row.sites:
        name = f"{row.path}:{site.place}:{site.column} {site.symbol}"
        seen[name] += 1  # two sites of one name can begin at one place
        name += f" ({seen[name]})" if seen[name] > 1 else ""
        case = _case(suite, row.path, name, site.own_line)
        if id(site) in wanted:
            words = wording(site, extras)
            failure = ElementTree.SubElement(case, "failure", type=f"{site.code} {site.state}", message=_text(words))
            failure.text = _text(f"{row.path}:{site.place}:{site.column}: {site.code} {words}")
        elif id(site) in open_sites:
            ElementTree.SubElement(case, "skipped", message=_text(f"in the baseline: {site.code} {site.symbol}"))


def _problem(suite: ElementTree.Element, path: str, line: int | None, code: str, message: str) -> None:
    place = path if line is None else f"{path}:{line}"
    case = _case(suite, path, f"{place} can be handled", line)
    error = ElementTree.SubElement(case, "error", type=code, message=_text(message))
    error.text = _text(f"{place}: {code} {message}")


def _case(suite: ElementTree.Element, path: str, name: str, line: int | None) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname=_text(path), name=_text(name), file=_text(path))
    if line is not None:
        case.set("line", str(line))
    return case


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.find(tag) is not None for case in suite)))


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


FORMAT = Format(
    help="JUnit XML: each place that needs a person is a failed test case, for CI systems that show tests.",
    media="application/xml",
    render=render,
    endings=(".xml",),
)
