"""What the formats that mark lines have in common: which sites, where exactly, in which words, known by which mark."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from chainer2torch.plan.site import Site
from chainer2torch.report.extras import Extras
from chainer2torch.report.model import FileRow, Report

_NEWLINE = re.compile(r"\r\n|\r|\n")


def to_see_to(report: Report, extras: Extras) -> list[tuple[FileRow, Site]]:
    """What a person has to see to; with a baseline only what is new."""
    return list(extras.comparison.new) if extras.comparison else report.leftovers()


def wording(site: Site, extras: Extras) -> str:
    """What stands at the line: the symbol, its state, why, and the rule's next step."""
    parts = [f"{site.symbol}: {site.state}"]
    if site.message:
        parts.append(" ".join(site.message.split()).rstrip("."))
    step = extras.next_step(site.symbol) if site.open else ""
    if step and step not in site.message:
        parts.append(" ".join(step.split()).rstrip("."))
    return ". ".join(parts) + "."


@dataclasses.dataclass(frozen=True)
class Region:
    """A place in a file, with columns in characters; the end column is the first behind it."""

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@dataclasses.dataclass(frozen=True)
class Annotation:
    """A site with its place, and a fingerprint by which the next run knows it again on whatever line it stands."""

    row: FileRow
    site: Site
    region: Region
    fingerprint: str


def annotated_sites(report: Report) -> Iterator[Annotation]:
    """All sites of a report. Equal lines of a file are told apart by their number, so each site counts."""
    for row in report.files:
        lines = _NEWLINE.split(row.before) if row.before is not None else []
        seen: Counter[str] = Counter()
        for site in row.sites:
            mark = f"{row.path}\0{site.code}\0{site.symbol}\0{' '.join(_line(lines, site.line).split())}"
            seen[mark] += 1
            yield Annotation(row, site, _region(lines, site), fingerprint(f"{mark}\0{seen[mark]}"))


def fingerprint(text: str) -> str:
    """The mark of a text."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def path_below(path: str) -> str | None:
    """The path relative to the folder in which the tool runs; None for a file outside of it."""
    relative = Path(os.path.relpath(path)).as_posix()
    return None if relative.startswith("../") else relative


def _region(lines: list[str], site: Site) -> Region:
    """Where a site is; of a notebook the line of the file, in which the cell's line is a JSON string."""
    if site.cell is not None:
        return Region(site.cell.file_line)
    column = _characters(_line(lines, site.line), site.column)
    if site.end_line is None or site.end_column is None:
        return Region(site.line, column)
    return Region(site.line, column, site.end_line, _characters(_line(lines, site.end_line), site.end_column))


def _line(lines: list[str], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _characters(line: str, column: int) -> int:
    """The column in characters: a site's column counts UTF-8 bytes, as Python's ast does."""
    return len(line.encode(errors="replace")[: column - 1].decode(errors="ignore")) + 1
