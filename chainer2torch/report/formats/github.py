"""Annotations for GitHub Actions: lines that the runner turns into marks on a pull request."""

from __future__ import annotations

from collections.abc import Mapping

from chainer2torch.report.annotations import annotated_sites, to_see_to, wording
from chainer2torch.report.extras import Extras
from chainer2torch.report.formats import Format
from chainer2torch.report.model import Report

_COMMANDS = {"manual": "error", "review": "warning", "close": "notice", "exact": "notice"}


def render(report: Report, extras: Extras) -> str:
    """Workflow commands, the worst first, because GitHub shows only the first ten of each kind of a step.

    With a baseline only what is new is annotated.
    """
    lines = []
    for problem in report.problems:
        title = f"chainer2torch {problem.code}"
        lines.append(_command("error", {"file": problem.path, "line": problem.line, "title": title}, problem.message))
    wanted = {id(site) for _, site in to_see_to(report, extras)}
    order = list(_COMMANDS)
    marks = [found for found in annotated_sites(report) if id(found.site) in wanted]
    for found in sorted(marks, key=lambda found: order.index(found.site.state)):
        region, site = found.region, found.site
        properties: dict[str, str | int | None] = {
            "file": found.row.path,
            "line": region.line,
            "col": region.column,
            "title": f"chainer2torch {site.code} ({site.state})",
        }
        lines.append(_command(_COMMANDS[site.state], properties, wording(site, extras)))
    return "".join(lines)


def _command(name: str, properties: Mapping[str, str | int | None], text: str) -> str:
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value is not None)
    return f"::{name} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMAT = Format(
    help="Annotations for GitHub Actions: lines that the runner turns into marks on a pull request.",
    media="text/plain",
    render=render,
)
