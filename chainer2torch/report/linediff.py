"""Which lines of two texts are the same: in about linear time for a text and its migration, whatever their size."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

Opcode = tuple[str, int, int, int, int]


def opcodes(before: Sequence[str], after: Sequence[str]) -> Iterator[Opcode]:
    """As ``difflib.SequenceMatcher(None, before, after).get_opcodes()``, whose time is quadratic.

    Lines that occur once in both texts, in the same order, are the same line; only what lies between two of them is
    left to difflib.
    """
    merged: list[Opcode] = []
    for tag, a, b, c, d in _pieces(before, after):
        if merged and merged[-1][0] == tag == "equal":
            last = merged.pop()
            merged.append((tag, last[1], b, last[3], d))
        else:
            merged.append((tag, a, b, c, d))
    yield from merged


def _pieces(before: Sequence[str], after: Sequence[str]) -> Iterator[Opcode]:
    a = c = 0
    for i, j in [*_anchors(before, after), (len(before), len(after))]:
        if a < i or c < j:
            matcher = difflib.SequenceMatcher(None, before[a:i], after[c:j], autojunk=False)
            for tag, p, q, r, s in matcher.get_opcodes():
                yield tag, a + p, a + q, c + r, c + s
        if i < len(before):
            yield "equal", i, i + 1, j, j + 1
        a, c = i + 1, j + 1


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The longest sequence of lines that are unique in both texts and keep their order."""
    counts, others = Counter(before), Counter(after)
    places = {line: j for j, line in enumerate(after)}
    pairs = [(i, places[line]) for i, line in enumerate(before) if counts[line] == 1 and others[line] == 1]
    tops: list[int] = []  # the smallest end of an increasing sequence of each length
    ends: list[int] = []  # which pair that is
    previous: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect.bisect_left(tops, j)
        previous.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [j]
        ends[length : length + 1] = [number]
    found = []
    number = ends[-1] if ends else -1
    while number >= 0:
        found.append(pairs[number])
        number = previous[number]
    return found[::-1]
