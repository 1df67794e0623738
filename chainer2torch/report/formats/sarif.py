"""SARIF 2.1.0, for code scanning: one rule for each code, one result for each site that is something to see to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chainer2torch.report.annotations import Region, annotated_sites, path_below, wording
from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"manual": "error", "review": "warning", "close": "note", "exact": "note"}
_ROOT = "SRCROOT"
_INFORMATION = "https://pypi.org/project/chainer2torch/"


def render(report: Report, extras: Extras) -> str:
    """The report as a SARIF log. Sites that are migrated exactly are left out: there is nothing to see to."""
    from chainer2torch.version import __version__
    from chainer2torch.rules import codes

    results = list(_results(report, extras))
    table = codes.table()
    used = sorted({result["ruleId"] for result in results} | {problem.code for problem in report.problems})
    rules = [
        {
            "id": code,
            "name": _pascal(table[code].title) if code in table else code,
            "shortDescription": {"text": table[code].title if code in table else code},
            "fullDescription": {"text": table[code].text if code in table else code},
            "help": {"text": f"{table[code].text if code in table else code}\nMore: chainer2torch explain {code}"},
        }
        for code in used
    ]
    for result in results:
        result["ruleIndex"] = used.index(result["ruleId"])
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "chainer2torch",
                "version": __version__,
                "informationUri": _INFORMATION,
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which chainer2torch was run."}}},
        "invocations": [
            {
                "executionSuccessful": not report.problems,
                "toolExecutionNotifications": [
                    {
                        "descriptor": {"id": problem.code, "index": used.index(problem.code)},
                        "level": "error",
                        "message": {"text": problem.message},
                        "locations": [_location(problem.path, None if problem.line is None else Region(problem.line))],
                    }
                    for problem in report.problems
                ],
            }
        ],
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _results(report: Report, extras: Extras) -> Iterator[dict[str, Any]]:
    new = {id(site) for _, site in extras.comparison.new} if extras.comparison else None
    for found in annotated_sites(report):
        site = found.site
        if site.state == "exact" and report.migrated:
            continue
        result = {
            "ruleId": site.code,
            "level": _LEVELS[site.state],
            "message": {"text": wording(site, extras)},
            "locations": [_location(found.row.path, found.region)],
            "partialFingerprints": {"chainer2torch/v1": found.fingerprint},
            "properties": {"symbol": site.symbol, "state": site.state},
        }
        if new is not None:
            result["baselineState"] = "new" if id(site) in new else "unchanged"
        yield result


def _location(path: str, region: Region | None) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if region is not None:
        numbers = {
            "startLine": region.line,
            "startColumn": region.column,
            "endLine": region.end_line,
            "endColumn": region.end_column,
        }
        location["region"] = {key: number for key, number in numbers.items() if number is not None}
    return {"physicalLocation": location}


def _artifact(path: str) -> dict[str, str]:
    """Where a file is: relative to the folder in which the tool runs, absolute only outside of it."""
    relative = path_below(path)
    if relative is None:
        return {"uri": Path(path).resolve().as_uri()}
    return {"uri": quote(relative), "uriBaseId": _ROOT}


def _pascal(title: str) -> str:
    return "".join(word.capitalize() for word in re.findall(r"\w+", title))


FORMAT = Format(
    help="SARIF 2.1.0, for code scanning: a rule for each code, a result for each site that is not exact.",
    media="application/sarif+json",
    render=render,
    endings=(".sarif", ".sarif.json"),
)
