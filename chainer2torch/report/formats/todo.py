"""For hooks: the places that ask a person, then the files that one command migrates."""

from __future__ import annotations

from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import Report
from chainer2torch.report.terminal import count, lines, shown_sites

_BY_ITSELF = ("exact", "close")
_MOST = 10  # files named by their names


def render(report: Report, extras: Extras) -> str:
    """A line for each place of state review or manual; of the others only how many, in which files."""
    pairs = shown_sites(report, extras)
    problems = "".join(f"{problem}\n" for problem in report.problems)
    asked = lines((row, site) for row, site in pairs if site.state not in _BY_ITSELF)
    return asked + problems + _rest([row.path for row, site in pairs if site.state in _BY_ITSELF])


def _rest(paths: list[str]) -> str:
    """What the tool does by itself: in this project, or in the files that were not migrated yet."""
    if not paths:
        return ""
    files = list(dict.fromkeys(paths))
    named = ", ".join(files[:_MOST]) + (f" and {len(files) - _MOST} more" if len(files) > _MOST else "")
    return f"`chainer2torch migrate --write` rewrites {count(len(paths), 'place')} without a question: {named}\n"


FORMAT = Format(
    help="What is to be done, for hooks: a line for each place that asks a person, one for all others.",
    media="text/plain",
    render=render,
)
