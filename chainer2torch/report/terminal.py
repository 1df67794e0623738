"""What a person reads at the end of a run: sites, files, totals and the next step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from chainer2torch.plan.site import STATES, Site
from chainer2torch.report.extras import Extras
from chainer2torch.report.launch import launch_command
from chainer2torch.report.model import CLEAN, ERROR, LEFT, MIGRATED, NO_CHAINER, PARTIAL, FileRow, Report

_COLOURS = {"exact": "green", "close": "cyan", "review": "yellow", "manual": "red"}
_PLANNED = {MIGRATED: "to migrate", PARTIAL: "to migrate in part"}  # while nothing is written
_WORDS = (
    (MIGRATED, "migrated"),
    (PARTIAL, "migrated in part"),
    (LEFT, "with Chainer"),
    (CLEAN, "nothing to change"),
    (NO_CHAINER, "without Chainer"),
    (ERROR, "with errors"),
)


def sites(report: Report, extras: Extras | None = None) -> str:
    """One line for each site: ``path:line:column: CODE state symbol: message``; with a baseline what is new."""
    return lines(shown_sites(report, extras))


def shown_sites(report: Report, extras: Extras | None = None) -> list[tuple[FileRow, Site]]:
    """The sites of which a person reads; with a baseline what is new."""
    if extras and extras.comparison:
        return list(extras.comparison.new)
    return [(row, site) for row in report.files for site in row.sites]


def lines(pairs: Iterable[tuple[FileRow, Site]]) -> str:
    """One line for each site."""
    found = []
    for row, site in pairs:
        tail = f": {' '.join(site.message.split())}" if site.message else ""
        found.append(f"{row.path}:{site.place}:{site.column}: {site.code} {site.state} {site.symbol}{tail}\n")
    return "".join(found)


def kept(report: Report) -> str:
    """One line for each site that another stage migrates."""
    return "".join(
        f"{row.path}:{site.place}:{site.column}: kept ({site.message}): {site.symbol}\n" for row, site in report.kept
    )


def named(report: Report) -> str:
    """One line for each name in a string, docstring or comment: ``path:line:column: named in a comment: symbol``."""
    return "".join(
        f"{row.path}:{mention.place}:{mention.column}: named in a {mention.where}: {mention.symbol}\n"
        for row, mention in report.mentions
    )


def summary(report: Report, step: str = "", extras: Extras | None = None) -> str:
    """Files, sites by state, what is left; ``step`` overrides the advice at the end."""
    if report.problems and not report.files:
        return ""  # the problems, which are shown, are all there is to say
    statuses = Counter(row.status for row in report.files)
    totals = report.totals()
    words = dict(_WORDS) if report.written else {**dict(_WORDS), **_PLANNED}
    files = ", ".join(f"{statuses[key]} {word}" for key, word in words.items() if statuses[key])
    said = [f"{count(len(report.files), 'Python file')}{': ' if files else ''}{files}"]
    if totals["sites"]:
        states = ", ".join(f"{totals[state]} {state}" for state in STATES)
        said.append(f"{count(totals['sites'], 'Chainer site')}: {states}")
    if any(row.left is not None for row in report.files) and totals["sites"]:
        left = ("" if report.written else "would be ") + "left in the output" + " of this stage" * bool(report.kept)
        said.append(f"{left}: {_left(report.left, statuses[ERROR])}")
    if report.kept:
        said.append(f"kept for other stages: {count(len(report.kept), 'Chainer site')}")
    if report.mentions:
        said.append(f"in strings and comments: {count(len(report.mentions), 'name')} of Chainer's, not changed")
    if differences := report.differences():
        said.append("declared differences: " + ", ".join(f"{name} ({count})" for name, count in differences.items()))
    if extras and extras.comparison:
        said.append(extras.comparison.line())
    command = launch_command(report)
    if command:
        said.append(f"start in N processes: {command}")
    said += [f"note: {note}" for note in report.notes]
    advice = step or next_step(report)
    if advice:
        said.append(f"next: {advice}")
    return "\n".join(said) + "\n"


def _left(left: int, unread: int) -> str:
    """How much of Chainer is left; of files that could not be migrated nobody knows."""
    known = f"{count(left, 'reference')} to Chainer"
    if not unread:
        return known
    files = f"what is in {count(unread, 'file')} that could not be migrated"
    return f"{known}, and {files}" if left else f"{files}; nothing in the others"


def next_step(report: Report) -> str:
    """The one thing to do now."""
    totals = report.totals()
    if report.problems:
        return f"see to the {count(len(report.problems), 'problem')} named above, then run the command again"
    if not report.written and any(row.status in _PLANNED for row in report.files):
        return "`chainer2torch migrate PATH -o OUT` writes a migrated copy"
    if totals["manual"] or report.left:
        return (
            "work through the `# TODO(chainer2torch ...)` comments (`chainer2torch check` lists the places, "
            "`chainer2torch explain CODE` says why)"
        )
    if totals["review"]:
        return "read the places in state review (`chainer2torch report` lists them), then `chainer2torch verify`"
    if report.kept:
        return "run the project with both frameworks; then `chainer2torch migrate --only` the next stage on it"
    if any(row.status == MIGRATED for row in report.files):
        return "compare both versions: `chainer2torch verify script SRC OUT -- SCRIPT ARGS`"
    return ""


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def show(text: str, stream: TextIO) -> None:
    """Writes text: with colours on a terminal, exactly as it is in a pipe."""
    if not stream.isatty():
        stream.write(text)
        stream.flush()
        return
    from rich.console import Console
    from rich.text import Text

    styled = Text(text)
    for state, colour in _COLOURS.items():
        styled.highlight_regex(rf"\b{state}\b", colour)
    styled.highlight_regex(r"(?m)^next:.*$", "bold")
    Console(file=stream, highlight=False, soft_wrap=True).print(styled, end="")
