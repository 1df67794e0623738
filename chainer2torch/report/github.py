"""Annotations for GitHub Actions: lines that the runner turns into marks on a pull request."""

from __future__ import annotations

from chainer2torch.report.extras import Extras
from chainer2torch.report.model import Report
from chainer2torch.report.sarif import message, places

_COMMANDS = {"manual": "error", "review": "warning", "close": "notice", "exact": "notice"}


def to_github(report: Report, extras: Extras | None = None) -> str:
    """Workflow commands, the worst first, because GitHub shows only the first ten of each kind of a step.

    With a baseline only what is new is annotated.
    """
    extras = extras or Extras()
    pairs = list(extras.comparison.new) if extras.comparison else report.leftovers()
    lines = []
    for problem in report.problems:
        lines.append(
            _command(
                "error",
                {"file": problem.path, "line": problem.line, "title": f"chainer2torch {problem.code}"},
                problem.message,
            )
        )
    order = list(_COMMANDS)
    for row, site in sorted(pairs, key=lambda pair: order.index(pair[1].state)):
        line, column = places(row, site)
        title = f"chainer2torch {site.code} ({site.state})"
        lines.append(
            _command(
                _COMMANDS[site.state],
                {"file": row.path, "line": line, "col": column, "title": title},
                message(site, extras),
            )
        )
    return "".join(lines)


def _command(name: str, properties: dict[str, str | int | None], text: str) -> str:
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"::{name} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
