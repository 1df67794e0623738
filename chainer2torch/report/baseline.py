"""The ratchet: which leftovers of a run are new since an earlier JSON report."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from pathlib import Path

from chainer2torch.plan.site import Site
from chainer2torch.report.model import FileRow, Report

Key = tuple[str, str, str]


class BaselineError(Exception):
    """The baseline cannot be used; the message says how to make one."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """``new`` leftovers, and how many of the baseline's are still there (``known``) or no longer (``gone``)."""

    new: tuple[tuple[FileRow, Site], ...]
    known: int
    gone: int
    shares: str = ""  # per cent of the sites that need nobody, then and now

    def line(self) -> str:
        """The comparison in a line of text."""
        shrunk = f", {self.gone} gone (write the baseline anew to hold on to that)" if self.gone else ""
        shares = f"; {self.shares}" if self.shares else ""
        return f"against the baseline: {len(self.new)} new, {self.known} known{shrunk}{shares}"


def compare(report: Report, baseline: Path) -> Comparison:
    """Compares the leftovers of a run with those of an earlier JSON report.

    Lines move when a file is edited, so a leftover is known by its file, code and symbol; of several such, those that
    stand where they stood are the known ones, then the first.
    """
    old, then = _read(baseline, report.migrated)
    budget = Counter(key for key, _ in old)
    places = Counter(old)
    left = report.leftovers()
    known: set[int] = set()
    for exact_place in (True, False):
        for number, (row, site) in enumerate(left):
            key = (row.path, site.code, site.symbol)
            if number in known or not budget[key] or (exact_place and not places[key, site.own_line]):
                continue
            known.add(number)
            budget[key] -= 1
            places[key, site.own_line] -= 1
    new = tuple(pair for number, pair in enumerate(left) if number not in known)
    now = report.share_done()
    shares = f"{_percent(now)} need nobody, {_percent(then)} then" if report.migrated and then is not None else ""
    return Comparison(new, len(known), sum(budget.values()), shares)


def _percent(share: float) -> str:
    return f"{math.floor(share * 10) / 10:.1f} %"


def _read(path: Path, migrated: bool) -> tuple[list[tuple[Key, int]], float | None]:
    how = "make one with `chainer2torch report PATH --format json -o FILE`"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read ({error.strerror}); {how}") from None
    except ValueError as error:
        raise BaselineError(f"{path}: not JSON ({error}); {how}") from None
    if not isinstance(document, dict) or document.get("version") != 1 or not isinstance(document.get("files"), list):
        raise BaselineError(f"{path}: not a report of version 1; {how}")
    try:
        sites = [(row, site) for row in document["files"] for site in row["sites"]]
        done = sum(site["state"] in ("exact", "close") for _, site in sites)
        left = [
            ((row["path"], site["code"], site["symbol"]), site["line"])
            for row, site in sites
            if not migrated or site["state"] in ("review", "manual")
        ]
        return left, 100.0 * done / len(sites) if sites else None
    except (KeyError, TypeError):
        raise BaselineError(f"{path}: not a report of version 1; {how}") from None
