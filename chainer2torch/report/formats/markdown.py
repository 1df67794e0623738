"""A summary in Markdown, for the text of a pull request or of a job."""

from __future__ import annotations

from chainer2torch.plan.site import STATES
from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.launch import launch_command
from chainer2torch.report.declared import declared
from chainer2torch.report.model import NO_CHAINER, Report

_SITES = 200  # more are counted


def render(report: Report, extras: Extras) -> str:
    """Totals, the files with work left, and where that work is.

    With a baseline, what is left to do is what is new.
    """
    comparison = extras.comparison
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
    for note in [*report.notes, *declared(report)]:
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
        for path, site in open_sites[:_SITES]:
            place, symbol = _code(f"{path}:{site.place}"), _code(site.symbol)
            lines.append(f"- {place} {symbol} ({site.state}, {site.code}): {_plain(site.message)}")
        if len(open_sites) > _SITES:
            lines.append(f"- ... and {len(open_sites) - _SITES} more")
        lines.append("")
    if report.kept:
        lines += [f"Kept for other stages: {len(report.kept)} Chainer sites.", ""]
    if report.mentions:
        lines += ["## Named in strings and comments", "", "These stay as they are.", ""]
        lines += [
            f"- {_code(f'{row.path}:{mention.place}')} {_code(mention.symbol)} ({mention.where})"
            for row, mention in report.mentions[:_SITES]
        ]
        if len(report.mentions) > _SITES:
            lines.append(f"- ... and {len(report.mentions) - _SITES} more")
        lines.append("")
    return "\n".join(lines)


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return fence + text.replace("|", "\\|") + fence


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


FORMAT = Format(
    help="A summary in Markdown, for a pull request or a job's summary.",
    media="text/markdown",
    render=render,
    endings=(".md", ".markdown"),
)
