"""The machine-readable and document formats of a report."""
from __future__ import annotations

import json
from collections.abc import Callable

from chainer2torch.report.model import NO_CHAINER, STATES, Report

_MARKDOWN_SITES = 200


def to_json(report: Report) -> str:
    """Version 1 of the JSON report; a problem with a file is an entry of ``problems`` and gives it the status error."""
    document = {
        "version": 1,
        "totals": report.totals(),
        "left": report.left,
        "files": [{
            "path": row.path,
            "status": row.status,
            "sites": [{"line": site.line, "column": site.column, "symbol": site.symbol, "state": site.state,
                       "code": site.code, "message": site.message} for site in row.sites],
        } for row in report.files],
        "symbols": report.symbols(),
        "problems": [{"path": problem.path, "line": problem.line, "code": problem.code, "message": problem.message}
                     for problem in report.problems],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_markdown(report: Report) -> str:
    """A summary for a pull request: totals, the files with work left, and where that work is."""
    totals = report.totals()
    lines = ["# chainer2torch", "", "| files | sites | exact | close | review | manual |", "|---|---|---|---|---|---|",
             "| " + " | ".join(str(totals[key]) for key in ("files", "sites", *STATES)) + " |", ""]
    if report.problems:
        lines += ["## Files that could not be handled", ""]
        lines += [f"- {_code(item.path)}: {item.code} {_plain(item.message)}" for item in report.problems]
        lines.append("")
    lines += ["## Files", "", "| file | status | exact | close | review | manual |", "|---|---|---|---|---|---|"]
    for row in report.files:
        if row.status != NO_CHAINER:
            counts = [str(sum(site.state == state for site in row.sites)) for state in STATES]
            lines.append(f"| {_code(row.path)} | {row.status} | " + " | ".join(counts) + " |")
    lines.append("")
    open_sites = [(row.path, site) for row in report.files for site in row.sites if site.open]
    if open_sites:
        lines += ["## What is left to do", ""]
        for path, site in open_sites[:_MARKDOWN_SITES]:
            place, symbol = _code(f"{path}:{site.line}"), _code(site.symbol)
            lines.append(f"- {place} {symbol} ({site.state}, {site.code}): {_plain(site.message)}")
        if len(open_sites) > _MARKDOWN_SITES:
            lines.append(f"- ... and {len(open_sites) - _MARKDOWN_SITES} more")
        lines.append("")
    return "\n".join(lines)


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return fence + text.replace("|", "\\|") + fence


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def renderer(name: str) -> Callable[[Report], str]:
    """The function that makes the format ``text``, ``json`` or ``markdown``."""
    from chainer2torch.report.text import to_text
    return {"text": to_text, "json": to_json, "markdown": to_markdown}[name]


def format_of(path: str) -> str | None:
    """The format that the ending of a file name stands for, or None."""
    endings = {".json": "json", ".md": "markdown", ".markdown": "markdown", ".txt": "text"}
    return next((name for ending, name in endings.items() if path.lower().endswith(ending)), None)
