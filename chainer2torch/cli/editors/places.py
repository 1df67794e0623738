"""The places of one open file that an editor marks, and what its quick fixes change."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from chainer2torch.cli.running import extras_of, run
from chainer2torch.cli.settings import Goal, settings
from chainer2torch.project import output
from chainer2torch.project.scan import STDIN
from chainer2torch.report.annotations import annotated_sites, wording

LEFT_TO_DO = "left to do"  # the state of a comment that an earlier migration has written
_MARKER = re.compile(r"^([ \t]*)# TODO\(chainer2torch (C2T\d{3})\): (.*)$")


@dataclasses.dataclass(frozen=True)
class Place:
    """A place: lines and columns from 0, columns in characters, the end behind the last one."""

    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    symbol: str
    state: str
    message: str


@dataclasses.dataclass(frozen=True)
class Looked:
    """What was found in a file. ``migrated`` has the new text of each file that a migration would change."""

    places: tuple[Place, ...]
    migrated: dict[Path, str]


def look(path: Path, text: str) -> Looked:
    """Looks at the text of a file as it is in the editor; what it imports is read from the disk."""
    chosen = settings((STDIN,), (), (), (), (), quiet=True, stdin=str(path))
    project = run((STDIN,), chosen, text=text.encode("utf-8", "replace"))
    changes = output.changes(project)
    report = project.report(migrated=True).filtered(chosen.select, chosen.ignore)
    extras = extras_of(report, chosen, Goal())
    lines = text.splitlines()
    found = []
    for annotation in annotated_sites(report):
        region, site = annotation.region, annotation.site
        column = (region.column or 1) - 1
        end = (region.end_line, region.end_column)
        end_line, end_column = (end[0] - 1, end[1] - 1) if end[0] and end[1] else (region.line - 1, column + 1)
        message = wording(site, extras)
        found.append(Place(region.line - 1, column, end_line, end_column, site.code, site.symbol, site.state, message))
    for problem in report.problems:
        line = max((problem.line or 1) - 1, 0)
        width = len(lines[line]) if line < len(lines) else 0
        found.append(Place(line, 0, line, width, problem.code, "", "manual", problem.message))
    migrated = {change.source: change.new.decode("utf-8") for change in changes if _is_utf8(change.new)}
    return Looked((*found, *_markers(lines)), migrated)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _markers(lines: list[str]) -> list[Place]:
    """The comments that an earlier migration has left, as far as they stand in lines of their own."""
    found = []
    for number, line in enumerate(lines):
        match = _MARKER.match(line)
        if match is not None:
            said = match[3].strip()
            found.append(
                Place(number, len(match[1]), number, len(line), match[2], said.partition(":")[0], LEFT_TO_DO, said)
            )
    return found
