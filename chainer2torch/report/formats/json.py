"""Version 1 of the JSON report, for programs. docs/report.schema.json is its schema."""

from __future__ import annotations

import json
from typing import Any

from chainer2torch.plan.site import Mention, Site
from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import FileRow, Report


def render(report: Report, extras: Extras) -> str:
    """The whole run; a problem with a file is an entry of ``problems`` and gives the file the status error."""
    document = {
        "version": 1,
        "totals": report.totals(),
        "left": report.left,
        "mentions": len(report.mentions),
        "files": [_file(row) for row in report.files],
        "symbols": report.symbols(),
        "problems": [
            {
                "path": problem.path,
                **({"cell": problem.cell} if problem.cell else {}),
                "line": problem.line,
                "code": problem.code,
                "message": problem.message,
            }
            for problem in report.problems
        ],
        **({"trainer": report.trainer} if report.trainer else {}),
        **({"notes": report.notes} if report.notes else {}),
        **({"differences": report.differences()} if report.differences() else {}),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file(row: FileRow) -> dict[str, Any]:
    sites = [
        {
            **_place(site),
            "symbol": site.symbol,
            "state": site.state,
            "code": site.code,
            "message": site.message,
            **({"difference": site.difference} if site.difference else {}),
        }
        for site in row.sites
    ]
    mentions = [{**_place(found), "symbol": found.symbol, "where": found.where} for found in row.mentions]
    kept = [{**_place(site), "symbol": site.symbol, "message": site.message} for site in row.kept]
    return {
        "path": row.path,
        "status": row.status,
        "sites": sites,
        "mentions": mentions,
        **({"kept": kept} if kept else {}),
        **({"python2": True} if row.python2 else {}),
    }


def _place(found: Site | Mention) -> dict[str, Any]:
    cell = {"cell": found.cell.cell} if found.cell else {}
    return {**cell, "line": found.own_line, "column": found.column}


FORMAT = Format(
    help="Everything, for programs; also what --baseline reads (docs/report.schema.json).",
    media="application/json",
    render=render,
    endings=(".json",),
)
