"""GitLab's code quality report, which a merge request shows beside the changed lines.

It has the fields that GitLab documents: description, check_name, fingerprint, severity, and a location with a path and
a first line. They are a part of Code Climate's format.
"""

from __future__ import annotations

import json
from typing import Any

from chainer2torch.report.annotations import annotated_sites, fingerprint, path_below, to_see_to, wording
from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import Report

_SEVERITIES = {"manual": "major", "review": "minor", "close": "info", "exact": "info"}


def render(report: Report, extras: Extras) -> str:
    """An issue for each place that needs a person, or with a baseline for each that is new, and for each problem."""
    wanted = {id(site) for _, site in to_see_to(report, extras)}
    issues = []
    for problem in report.problems:
        mark = fingerprint(f"{problem.path}\0{problem.code}\0{problem.message}")
        issues.append(_issue(problem.message, problem.code, mark, "blocker", problem.path, problem.line or 1))
    for found in annotated_sites(report):
        if id(found.site) in wanted:
            severity, words = _SEVERITIES[found.site.state], wording(found.site, extras)
            issues.append(
                _issue(words, found.site.code, found.fingerprint, severity, found.row.path, found.region.line)
            )
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(description: str, code: str, mark: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "check_name": code,
        "description": description,
        "severity": severity,
        "fingerprint": mark,
        "location": {"path": path_below(path) or path, "lines": {"begin": line}},
    }


FORMAT = Format(
    help="GitLab code quality: marks in a merge request (artifacts: reports: codequality).",
    media="application/json",
    render=render,
    endings=("gl-code-quality-report.json",),
)
