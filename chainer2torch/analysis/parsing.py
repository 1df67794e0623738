"""Texts into trees of ``ast``, without the numbers of very long lists.

A table of a million numbers is a million nodes, of which nobody asks more than what kind of numbers they are. So its
first and last items are parsed, and blanks stand for the others: every position is what it was. The text itself stays.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Sequence

from chainer2torch.analysis.source import nodes_of

Span = tuple[int, int]
_SHORT = 200_000  # characters of a text in which nothing is left out
_RUN = re.compile(r"[\d\s,.eE+\-\[\]]{50000,}")
_BEHIND_ROW = re.compile(r"\]\s*,")
_TWO_DEEP = re.compile(r"\[[^\[\]]*\[|\][^\[\]]*\]")
_OCTAL = re.compile(r"(?<![\d.eE])(?<![eE][+-])0\d")  # as Python 2 writes it
_LINE = re.compile(r"[^\n]+")
_KEPT = 200  # items that stay at each end
_OF_FLOATS = (".", "e", "E")


def parse(text: str) -> ast.Module:
    """The tree of a text. Raises what ``ast.parse`` raises."""
    left_out = long_tables(text)
    if left_out:
        try:
            tree = ast.parse(_blanked(text, left_out))
        except (SyntaxError, ValueError):
            return ast.parse(text)  # for the message about the text itself
        if _in_lists(tree, text, left_out):
            return tree
    return ast.parse(text)


@functools.lru_cache(maxsize=2)
def long_tables(text: str) -> tuple[Span, ...]:
    """Where items of long lists of numbers are that ``parse`` may leave out."""
    if len(text) < _SHORT or not text.isascii() or "\r" in text:
        return ()
    return tuple(span for run in _RUN.finditer(text) if (span := _middle(text, *run.span())) is not None)


def _middle(text: str, start: int, end: int) -> Span | None:
    """The items in the middle of a run, from behind a comma to behind another one: numbers, or rows of numbers."""
    start = text.find("[", start, end)
    rows = start >= 0 and text.find("[", start + 1, end) >= 0
    first, last = start + 1, end
    for _ in range(_KEPT):
        if rows:
            found = _BEHIND_ROW.search(text, first, end)
            first = found.end() if found is not None else end
            last = max(text.rfind("]", first, last), first)
        else:
            first, last = text.find(",", first, end) + 1 or end, max(text.rfind(",", first, last), first)
    behind = _BEHIND_ROW.match(text, last, end) if rows else None
    last = behind.end() if behind is not None else last + 1
    if start < 0 or last - first < (end - start) // 2 or rows and (behind is None or not _is_flat(text, first, last)):
        return None
    if _OCTAL.search(text, first, last) is not None:
        return None
    if _has_floats(text, first, last) and not _has_floats(text, start, first):  # the first ones show what they are
        return None
    return first, last


def _has_floats(text: str, start: int, end: int) -> bool:
    return any(text.find(sign, start, end) >= 0 for sign in _OF_FLOATS)


def _is_flat(text: str, start: int, end: int) -> bool:
    """Whether a part of a text is rows, each closed before the next one."""
    opening, closing = text.find("[", start, end), text.find("]", start, end)
    return 0 <= opening < closing and _TWO_DEEP.search(text, start, end) is None


def _blanked(text: str, spans: Sequence[Span]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += (text[at:start], _LINE.sub(lambda line: " " * len(line[0]), text[start:end]))
        at = end
    return "".join([*parts, text[at:]])


def _in_lists(tree: ast.Module, text: str, spans: Sequence[Span]) -> bool:
    """Whether all of what was left out are items of lists: not of texts or comments, whose every character counts."""
    lists = [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in nodes_of(tree)
        if isinstance(node, (ast.List, ast.Set)) and len(node.elts) >= _KEPT
    ]
    places = [(_place(text, start), _place(text, end)) for start, end in spans]
    return all(any(a <= start and end <= b for a, b in lists) for start, end in places)


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset) - 1


def keeps_tables(text: str, code: str) -> bool:
    """Whether a text that was made of another one still has all that was left out of that one's tree."""
    return all(text[start:end] in code for start, end in long_tables(text))


__all__ = ["keeps_tables", "long_tables", "parse"]
