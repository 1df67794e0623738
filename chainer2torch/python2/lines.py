"""Which line of the old text each line of a converted one was."""

from __future__ import annotations

import dataclasses
import re

from chainer2torch.plan.site import Site
from chainer2torch.report.linediff import opcodes

_NEWLINE = re.compile(r"\r\n|\r|\n")


class Lines:
    """The lines of two texts. What has no line of its own in the old one is where the next that has one is."""

    def __init__(self, old: str, new: str):
        self._before, self._after = _NEWLINE.split(old), _NEWLINE.split(new)
        self._old: list[int] = []
        for _, a, b, c, d in opcodes(self._before, self._after):
            self._old += [min(a + max(0, i - ((d - c) - (b - a))), max(len(self._before) - 1, 0)) for i in range(d - c)]

    def old(self, line: int) -> int:
        """The number of the old line, from 1."""
        return self._old[line - 1] + 1 if 0 < line <= len(self._old) else max(1, len(self._before))

    def site(self, site: Site) -> Site:
        """The site in the old text; where its line was changed the columns are a guess, and its end is not known."""
        line = self.old(site.line)
        if site.line <= len(self._after) and self._after[site.line - 1] == self._before[line - 1]:
            if site.end_line == site.line or site.end_line is None:
                end = site.end_line and line
                return dataclasses.replace(site, line=line, end_line=end)
        width = len(self._before[line - 1].encode())
        return dataclasses.replace(
            site, line=line, column=min(site.column, max(width, 1)), end_line=None, end_column=None
        )
