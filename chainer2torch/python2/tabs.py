"""Indentation that mixes tabs and spaces, which Python 2 allowed: a tab goes to the next multiple of eight."""

from __future__ import annotations

import io

_WIDTH = 4


def indented_anew(text: str) -> str:
    """The text with four spaces for each level. Strings stay as they are; other lines move with their statement."""
    from fissix.pgen2 import token, tokenize

    levels: dict[int, int] = {}  # by line: the level of the statement that begins there
    inside: set[int] = set()  # lines that begin inside of a string
    level, starts = 0, True
    for kind, _, (line, _), (end, _), _ in tokenize.generate_tokens(io.StringIO(text).readline):
        level += (kind == token.INDENT) - (kind == token.DEDENT)
        if kind in (token.INDENT, token.DEDENT, tokenize.NL, tokenize.COMMENT):
            continue
        if kind == token.NEWLINE:
            starts = True
            continue
        if starts:
            levels[line], starts = level, False
        inside.update(range(line + 1, end + 1))
    out: list[str] = []
    shift = 0
    lines = text.split("\n")
    shifts = _shifts(lines, levels)
    for number, written in enumerate(lines, 1):
        shift = shifts.get(number, shift)
        body = written.lstrip(" \t")
        column = _column(written)
        out.append(written if number in inside or not body else " " * max(0, column + shift) + body)
    return "\n".join(out)


def _shifts(lines: list[str], levels: dict[int, int]) -> dict[int, int]:
    """By how much the statement of a line moves; comments above a statement go with it."""
    found: dict[int, int] = {}
    comments: list[int] = []
    for number, written in enumerate(lines, 1):
        if number in levels:
            found[number] = _WIDTH * levels[number] - _column(written)
            for above in comments:
                if _column(lines[above - 1]) == _column(written):
                    found[above] = found[number]
            comments = []
        elif written.lstrip(" \t").startswith("#"):
            comments.append(number)
    return found


def _column(line: str) -> int:
    """Where a line begins, as Python 2 counted it."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(8))
