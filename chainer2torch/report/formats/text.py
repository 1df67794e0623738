"""Plain text, for a terminal: a line for each site, then the summary."""

from __future__ import annotations

from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import Report
from chainer2torch.report.terminal import kept, named, sites, summary


def render(report: Report, extras: Extras) -> str:
    """Every site (with a baseline: what is new), what strings and comments name, problems, then the summary."""
    problems = "".join(f"{problem}\n" for problem in report.problems)
    return sites(report, extras) + kept(report) + named(report) + problems + summary(report, extras=extras)


FORMAT = Format(
    help="A line for each site, then the summary.",
    media="text/plain",
    render=render,
    endings=(".txt",),
)
