"""SARIF 2.1.0, for code scanning: one rule for each code, one result for each site that is something to see to."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chainer2torch.plan.site import Site
from chainer2torch.report.extras import Extras
from chainer2torch.report.model import FileRow, Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"manual": "error", "review": "warning", "close": "note", "exact": "note"}
_ROOT = "SRCROOT"
_NEWLINE = re.compile(r"\r\n|\r|\n")


def to_sarif(report: Report, extras: Extras | None = None) -> str:
    """The report as a SARIF log. Sites that are migrated exactly are left out: there is nothing to see to."""
    from chainer2torch import __version__
    from chainer2torch.rules import codes

    extras = extras or Extras()
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
        "tool": {"driver": {"name": "chainer2torch", "version": __version__, "rules": rules}},
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
                        "locations": [_location(problem.path, problem.line, None)],
                    }
                    for problem in report.problems
                ],
            }
        ],
        "results": results,
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _results(report: Report, extras: Extras) -> Any:
    new = {id(site) for _, site in extras.comparison.new} if extras.comparison else None
    for row in report.files:
        lines = _NEWLINE.split(row.before) if row.before is not None else []
        seen: Counter[str] = Counter()
        for site in row.sites:
            line = lines[site.line - 1] if 0 < site.line <= len(lines) else ""
            mark = f"{row.path}\0{site.code}\0{site.symbol}\0{' '.join(line.split())}"
            seen[mark] += 1  # counted over all sites, so that it does not change with a site's state
            if site.state == "exact" and report.migrated:
                continue
            result = {
                "ruleId": site.code,
                "level": _LEVELS[site.state],
                "message": {"text": message(site, extras)},
                "locations": [_location(row.path, *places(row, site))],
                "partialFingerprints": {
                    "chainer2torch/v1": hashlib.sha256(f"{mark}\0{seen[mark]}".encode(errors="replace")).hexdigest()
                },
                "properties": {"symbol": site.symbol, "state": site.state},
            }
            if new is not None:
                result["baselineState"] = "new" if id(site) in new else "unchanged"
            yield result


def message(site: Site, extras: Extras) -> str:
    """What stands at the line: the symbol, its state, why, and the rule's next step."""
    parts = [f"{site.symbol}: {site.state}"]
    if site.message:
        parts.append(" ".join(site.message.split()).rstrip("."))
    step = extras.next_step(site.symbol) if site.open else ""
    if step and step not in site.message:
        parts.append(" ".join(step.split()).rstrip("."))
    return ". ".join(parts) + "."


def _characters(line: str, column: int) -> int:
    """The column in characters: a site's column counts UTF-8 bytes, as Python's ast does."""
    return len(line.encode(errors="replace")[: column - 1].decode(errors="ignore")) + 1


def _location(path: str, line: int | None, column: int | None) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": artifact(path)}
    if line is not None:
        location["region"] = {"startLine": line, **({"startColumn": column} if column else {})}
    return {"physicalLocation": location}


def artifact(path: str) -> dict[str, str]:
    """Where a file is: relative to the folder in which the tool runs, absolute only outside of it."""
    relative = Path(os.path.relpath(path)).as_posix()
    if relative.startswith("../"):
        return {"uri": Path(path).resolve().as_uri()}
    return {"uri": quote(relative), "uriBaseId": _ROOT}


def _pascal(title: str) -> str:
    return "".join(word.capitalize() for word in re.findall(r"\w+", title))


def places(row: FileRow, site: Site) -> tuple[int, int | None]:
    """Line and column in characters; of a notebook the line of the file, in which the cell's line is a JSON string."""
    if site.cell is not None:
        return site.cell.file_line, None
    lines = _NEWLINE.split(row.before) if row.before is not None else []
    line = lines[site.line - 1] if 0 < site.line <= len(lines) else ""
    return site.line, _characters(line, site.column)
