"""The machine-readable and document formats of a report."""

from __future__ import annotations

import json

from chainer2torch.report.extras import Extras
from chainer2torch.report.launch import launch_command
from chainer2torch.plan.site import STATES
from chainer2torch.report.model import NO_CHAINER, Report

ENDINGS = {
    ".json": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".sarif": "sarif",
}
_MARKDOWN_SITES = 200


def to_json(report: Report) -> str:
    """Version 1 of the JSON report; a problem with a file is an entry of ``problems`` and gives it the status error."""
    document = {
        "version": 1,
        "totals": report.totals(),
        "left": report.left,
        "mentions": len(report.mentions),
        "files": [
            {
                "path": row.path,
                "status": row.status,
                "sites": [
                    {
                        **({"cell": site.cell.cell} if site.cell else {}),
                        "line": site.own_line,
                        "column": site.column,
                        "symbol": site.symbol,
                        "state": site.state,
                        "code": site.code,
                        "message": site.message,
                    }
                    for site in row.sites
                ],
                "mentions": [
                    {
                        **({"cell": mention.cell.cell} if mention.cell else {}),
                        "line": mention.own_line,
                        "column": mention.column,
                        "symbol": mention.symbol,
                        "where": mention.where,
                    }
                    for mention in row.mentions
                ],
                **(
                    {
                        "kept": [
                            {
                                **({"cell": site.cell.cell} if site.cell else {}),
                                "line": site.own_line,
                                "column": site.column,
                                "symbol": site.symbol,
                                "message": site.message,
                            }
                            for site in row.kept
                        ]
                    }
                    if row.kept
                    else {}
                ),
            }
            for row in report.files
        ],
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
        **({"notes": report.notes} if report.notes else {}),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_markdown(report: Report, extras: Extras | None = None) -> str:
    """A summary for a pull request: totals, the files with work left, and where that work is.

    With a baseline, what is left to do is what is new.
    """
    comparison = extras.comparison if extras else None
    totals = report.totals()
    lines = [
        "# chainer2torch",
        "",
        "| files | sites | exact | close | review | manual |",
        "|---|---|---|---|---|---|",
        "| " + " | ".join(str(totals[key]) for key in ("files", "sites", *STATES)) + " |",
        "",
    ]
    command = launch_command(report)
    if command:
        lines += [f"Start in N processes: {_code(command)}", ""]
    for note in report.notes:
        lines += [f"Note: {_plain(note)}", ""]
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
    pairs = list(comparison.new) if comparison else report.leftovers()
    open_sites = [(row.path, site) for row, site in pairs]
    if comparison:
        lines += [comparison.line().capitalize() + ".", ""]
    if open_sites:
        lines += ["## New since the baseline" if comparison else "## What is left to do", ""]
        for path, site in open_sites[:_MARKDOWN_SITES]:
            place, symbol = _code(f"{path}:{site.place}"), _code(site.symbol)
            lines.append(f"- {place} {symbol} ({site.state}, {site.code}): {_plain(site.message)}")
        if len(open_sites) > _MARKDOWN_SITES:
            lines.append(f"- ... and {len(open_sites) - _MARKDOWN_SITES} more")
        lines.append("")
    if report.kept:
        lines += [f"Kept for other stages: {len(report.kept)} Chainer sites.", ""]
    if report.mentions:
        lines += ["## Named in strings and comments", "", "These stay as they are.", ""]
        lines += [
            f"- {_code(f'{row.path}:{mention.place}')} {_code(mention.symbol)} ({mention.where})"
            for row, mention in report.mentions[:_MARKDOWN_SITES]
        ]
        if len(report.mentions) > _MARKDOWN_SITES:
            lines.append(f"- ... and {len(report.mentions) - _MARKDOWN_SITES} more")
        lines.append("")
    return "\n".join(lines)


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return fence + text.replace("|", "\\|") + fence


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


FORMATS = ("text", "json", "markdown", "html", "sarif", "github")


def render(name: str, report: Report, extras: Extras) -> str:
    """The report in one of FORMATS; only the module of that format is imported."""
    if name == "html":
        from chainer2torch.report.html import to_html

        return to_html(report, extras)
    if name == "sarif":
        from chainer2torch.report.sarif import to_sarif

        return to_sarif(report, extras)
    if name == "github":
        from chainer2torch.report.github import to_github

        return to_github(report, extras)
    if name == "text":
        from chainer2torch.report.text import to_text

        return to_text(report, extras)
    return to_json(report) if name == "json" else to_markdown(report, extras)


def format_of(path: str) -> str | None:
    """The format that the ending of a file name stands for, or None."""
    return next((name for ending, name in ENDINGS.items() if path.lower().endswith(ending)), None)
