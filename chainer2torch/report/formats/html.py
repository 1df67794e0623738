"""One self-contained HTML page: the template in report/page/, filled with a run's results.

The diffs are data that the page draws when a file is opened, so that a thousand files open at once.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

from chainer2torch.plan.site import STATES
from chainer2torch.report.annotations import to_see_to
from chainer2torch.report.causes import causes
from chainer2torch.report.extras import Extras
from chainer2torch.report.declared import declared
from chainer2torch.report.formats import Format
from chainer2torch.report.linediff import opcodes
from chainer2torch.report.model import ERROR, NO_CHAINER, FileRow, Report
from chainer2torch.report.verification import Check

_CONTEXT = 2
# Diffs beyond this are left out, and the page says so: it has to open at once.
_DIFF_BUDGET = 7_000_000
_NEWLINE = re.compile(r"\r\n|\r|\n")
_HELPER = re.compile(r"\bcompat\b")
_DECADES = (-12, 2)


def render(report: Report, extras: Extras) -> str:
    """The report as a page that opens from disk, without network, with everything in it."""
    import jinja2

    from chainer2torch.version import __version__
    from chainer2torch.rules import codes

    folder = Path(__file__).parent.with_name("page")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shown = _Paths(report)
    strings = _Strings()
    table = codes.table()
    files = _files(report, extras, strings, shown)
    totals = report.totals()
    numbers = {row.path: number for number, row in enumerate(_listed(report))}
    listed = causes(to_see_to(report, extras), extras)
    return environment.get_template("page.html").render(
        version=__version__,
        states=STATES,
        totals=totals,
        left=report.left,
        migrated=report.migrated,
        done=math.floor(report.share_done() * 10) / 10,
        bar=_bar(totals),
        files=files,
        causes=listed,
        places=sum(len(cause.places) for cause in listed),
        asked=sum(len(cause.places) for cause in listed if cause.asks),
        reasons=sum(cause.asks for cause in listed),
        titles={code: entry.title for code, entry in table.items()},
        numbers=numbers,
        shown=shown,
        written=_written(files),
        untouched=sum(row.status == NO_CHAINER for row in report.files),
        symbols=[{"name": name, "next": extras.next_step(name), **counts} for name, counts in report.symbols().items()],
        problems=report.problems,
        notes=[*(shown.within(note) for note in report.notes), *declared(report)],
        mentions=report.mentions,
        comparison=extras.comparison,
        facts=extras.facts,
        steps=extras.steps,
        checks=[
            {
                "check": check,
                "parts": check.message.split("; ") if check.message else [],
                "plot": _plot(check),
                "layers": _layers(check),
            }
            for check in extras.checks
        ],
        strings=_json(strings.all),
        codes=_json({code: table[code].title for code in sorted(strings.codes & set(table))}),
        # ours, not anybody's data
        css=_trusted(folder / "page.css"),
        script=_trusted(folder / "page.js"),
    )


def _trusted(path: Path) -> Any:
    import markupsafe

    return markupsafe.Markup(path.read_text(encoding="utf-8"))


def _json(value: Any) -> Any:
    """JSON that may stand inside of a script element: whatever the data are, they cannot end it."""
    import markupsafe

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # a lone surrogate (from a file in another encoding) cannot be written as UTF-8
    text = text.encode("utf-8", "replace").decode("utf-8")
    return markupsafe.Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


class _Strings:
    """Texts that many sites share, by number."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.codes: set[str] = set()
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        if text not in self._numbers:
            self._numbers[text] = len(self.all)
            self.all.append(text)
        return self._numbers[text]


class _Paths:
    """How paths are shown: where all are absolute, relative to the folder that they have in common."""

    def __init__(self, report: Report) -> None:
        paths = [*(row.path for row in report.files), *(problem.path for problem in report.problems)]
        absolute = bool(paths) and all(os.path.isabs(path) for path in paths)
        self.folder = os.path.commonpath([os.path.dirname(path) for path in paths]) if absolute else ""

    def within(self, text: str) -> str:
        """A sentence with its paths as they are shown."""
        return text.replace(self.folder.rstrip("/") + "/", "") if self.folder else text

    def __call__(self, path: str) -> str:
        return Path(os.path.relpath(path, self.folder)).as_posix() if self.folder else path


def _listed(report: Report) -> list[FileRow]:
    """The files that have to do with Chainer: those with most to see to first."""
    rows = [row for row in report.files if row.status != NO_CHAINER]
    work = {row.path: 0 for row in rows}
    for row, _ in report.leftovers():
        work[row.path] += 1
    return sorted(rows, key=lambda row: (-work[row.path], row.status != ERROR))


def _written(files: list[dict[str, Any]]) -> dict[str, int]:
    """Of the lines that the shown diffs add: how many there are, and how many of them use the helpers."""
    return {key: sum(file[key] for file in files) for key in ("added", "helped")}


def _files(report: Report, extras: Extras, strings: _Strings, shown: _Paths) -> list[dict[str, Any]]:
    new = {id(site) for _, site in extras.comparison.new} if extras.comparison else set()
    rows = _listed(report)
    work = {id(site) for _, site in report.leftovers()}
    diffs: dict[int, list[list[Any]] | None] = {}
    added: list[list[str]] = [[] for _ in rows]
    budget = _DIFF_BUDGET
    # files with something to see to come first when there is not room for all
    for number in sorted(range(len(rows)), key=lambda i: not any(site.open for site in rows[i].sites)):
        hunks = diff(rows[number])
        added[number] = [line for hunk in hunks for line in hunk[2] if line.startswith("+") and line[1:].strip()]
        size = sum(len(line) + 8 for hunk in hunks for line in hunk[2])
        diffs[number] = hunks if size <= budget else None
        budget -= size if size <= budget else 0
    out = []
    for number, row in enumerate(rows):
        sites = []
        for site in row.sites:
            strings.codes.add(site.code)
            step = extras.next_step(site.symbol) if site.open else ""
            sites.append(
                [
                    site.line,
                    STATES.index(site.state),
                    site.code,
                    strings.number(site.symbol),
                    strings.number(" ".join(site.message.split())),
                    strings.number(" ".join(step.split()) if step not in site.message else ""),
                    int(id(site) in new),
                ]
            )
        out.append(
            {
                "path": shown(row.path),
                "work": sum(id(site) in work for site in row.sites) + (row.status == ERROR),
                "added": len(added[number]),
                "helped": sum(_HELPER.search(line) is not None for line in added[number]),
                "status": row.status,
                "left": row.left,
                "counts": {state: sum(site.state == state for site in row.sites) for state in STATES},
                "new": sum(id(site) in new for site in row.sites),
                "python2": row.python2,
                "symbols": " ".join(sorted({site.symbol for site in row.sites})),
                "data": _json({"sites": sites, "diff": diffs[number]}),
            }
        )
    return out


def diff(row: FileRow) -> list[list[Any]]:
    """The changed parts of a file, with a little context, and the lines of open sites: hunks of [old, new, lines].

    ``old`` and ``new`` are the numbers of the first lines; each line starts with " ", "-" or "+".
    """
    if row.before is None:
        return []
    before = _NEWLINE.split(row.before)
    after = before if row.after is None or row.after == row.before else _NEWLINE.split(row.after)
    listed = {site.line - 1 for site in row.sites}
    lines: list[tuple[int, int, str, bool]] = []  # old and new number, the text, whether it must be shown
    for tag, a, b, c, d in opcodes(before, after):
        if tag == "equal":
            lines += [(i, c + i - a, " " + before[i], i in listed) for i in range(a, b)]
        else:
            lines += [(i, c, "-" + before[i], True) for i in range(a, b)]
            lines += [(b, j, "+" + after[j], True) for j in range(c, d)]
    shown: set[int] = set()
    for number, line in enumerate(lines):
        if line[3]:
            shown.update(range(max(number - _CONTEXT, 0), min(number + _CONTEXT + 1, len(lines))))
    hunks: list[list[Any]] = []
    last = -2
    for number in sorted(shown):
        old, new, text, _ = lines[number]
        if number != last + 1:
            hunks.append([old + 1, new + 1, []])
        hunks[-1][2].append(text)
        last = number
    return hunks


def _bar(totals: dict[str, int]) -> list[dict[str, Any]]:
    """The parts of the bar, in per mille of its width."""
    parts, start = [], 0.0
    for state in STATES:
        width = 1000 * totals[state] / totals["sites"] if totals["sites"] else 0.0
        parts.append({"state": state, "x": round(start, 2), "width": round(width, 2), "count": totals[state]})
        start += width
    return parts


def _plot(check: Check) -> list[dict[str, Any]]:
    """Where each error lies on a logarithmic axis from 1e-12 to 1e2, in per mille."""
    low, high = _DECADES
    dots = []
    for label, error in check.errors[:400]:
        decade = min(max(math.log10(error) if error > 0 else low, low), high)
        dots.append({"x": round(1000 * (decade - low) / (high - low), 1), "label": f"{label}: {error:.1e}"})
    return dots


def _layers(check: Check) -> list[dict[str, Any]]:
    """A bar for each layer in the order of the calls, as high as its error on the same logarithmic axis."""
    low, high = _DECADES
    shown = check.layers[:200]
    width = 1000 / max(1, len(shown))
    bars = []
    for number, (label, error) in enumerate(shown):
        decade = min(max(math.log10(error) if error > 0 else low, low), high)
        height = 10 + 190 * (decade - low) / (high - low)
        bars.append(
            {
                "x": round(number * width, 1),
                "y": round(200 - height, 1),
                "width": round(width * 0.8, 1),
                "height": round(height, 1),
                "label": f"{label}: {error:.1e}",
            }
        )
    return bars


FORMAT = Format(
    help="One page with everything in it: causes, files with their changes, and the results of --verify.",
    media="text/html",
    render=render,
    endings=(".html", ".htm"),
)
