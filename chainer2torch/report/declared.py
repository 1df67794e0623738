"""The declared differences of a run, as sentences for people."""

from __future__ import annotations

from chainer2torch.report.model import Report
from chainer2torch.rules import differences


def declared(report: Report) -> list[str]:
    """One sentence for each difference: its name, at how many places it is made, what it is, what verify does."""
    known = differences.table()
    return [
        f"Declared difference {name} ({count} {'place' if count == 1 else 'places'}): {known[name].what} "
        f"In a verification: {known[name].checked}"
        for name, count in report.differences().items()
        if name in known
    ]
