"""New lines that are longer than 79 columns, and than every line of the source, are broken inside of brackets.

Replacements are longer than what they replace: ``compat.Batches(DataLoader(...))`` for an iterator. A person who
writes them breaks the line. Only the space between two tokens inside of brackets changes, so the program stays the
same; what needs a pair of parentheses for that gets one (``return a, b``). Lines that the source has stay as they are,
and so do lines with a comment, which may speak of its line (``# noqa``).
"""

from __future__ import annotations

import dataclasses
import io
import keyword
import tokenize
from collections.abc import Iterator

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_OPERATORS = frozenset({"+", "-", "*", "/", "@", "//", "%", "|", "&", "==", "!=", "<", "<=", ">", ">="})
_BEFORE_WORDS = frozenset({"for", "if", "else", "and", "or"})
_WITH_SUITE = frozenset({"if", "elif", "for", "while", "with", "def", "class", "async", "except", "match", "case"})
_VALUES_BEHIND = frozenset({"return", "import", "=", "+=", "-=", "*=", "/="})
_SILENT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})
_GAIN = 8  # columns that a line must win when all that is in a bracket moves below it
_FORMATTED = tuple(getattr(tokenize, f"FSTRING_{end}", -1) for end in ("START", "END"))  # from Python 3.12 on


@dataclasses.dataclass
class _Piece:
    """A token, the space before it, and the numbers of the pieces with the brackets that are open there.

    A ``lambda`` is one up to its colon: its parameters stay together.
    """

    gap: str
    text: str
    open: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Break:
    """A place where a line may go on below: before which piece, in which column, how deep and how good it is."""

    depth: int
    fits_not: bool
    kind: int
    behind: int  # minus the number of the piece: later is better
    column: int


def with_short_lines(code: str, before: str, width: int) -> str:
    """The text with its long new lines broken; ``before`` is the text of the source, ``width`` the columns of a line.

    No width, 0, leaves all lines as they are.
    """
    kept = set(before.splitlines())
    limit = max((width, *map(len, kept)))
    if not width or all(len(line) <= limit or line in kept for line in code.splitlines()):
        return code
    lines = code.splitlines(keepends=True)
    made: list[str] = []
    done = 0
    for pieces, first, last in _statements(code, lines):
        rows = [line.rstrip("\r\n") for line in lines[first:last]]
        if any(len(row) > limit and row not in kept for row in rows):
            made += lines[done:first]
            end = lines[last - 1][len(rows[-1]) :]
            made.append(_broken(pieces, limit, kept, "\r\n" if end.startswith("\r\n") else "\n") + end)
            done = last
    return "".join(made + lines[done:])


def _statements(code: str, lines: list[str]) -> Iterator[tuple[list[_Piece], int, int]]:
    """The pieces of each logical line, its first line and the one behind its last; without texts of several lines."""
    pieces: list[_Piece] = []
    end = (1, 0)
    formatted = 0  # f-strings that are open: from Python 3.12 on they are tokens, too
    first = 0
    for token in tokenize.generate_tokens(io.StringIO(code, newline="").readline):
        if token.type == tokenize.NEWLINE:
            if pieces and not any("\n" in piece.text for piece in pieces):
                _number_brackets(pieces)
                yield pieces, first, token.start[0]
            pieces = []
        if token.type in _SILENT or (token.type == tokenize.COMMENT and not pieces):
            end = token.end if token.type != tokenize.NL else end
            continue
        if not pieces:
            first, end = token.start[0] - 1, (token.start[0], 0)
        gap = _between(lines, end, token.start)
        if formatted or token.type == _FORMATTED[1]:
            pieces[-1].text += gap + token.string
        else:
            pieces.append(_Piece(gap, token.string))
        formatted += (token.type == _FORMATTED[0]) - (token.type == _FORMATTED[1])
        end = token.end


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    return lines[start[0] - 1][start[1] :] + "".join(lines[start[0] : end[0] - 1]) + lines[end[0] - 1][: end[1]]


def _number_brackets(pieces: list[_Piece]) -> None:
    brackets: tuple[int, ...] = ()
    for number, piece in enumerate(pieces):
        of_lambda = piece.text == ":" and bool(brackets) and pieces[brackets[-1]].text == "lambda"
        if piece.text in _CLOSING or of_lambda:
            brackets = brackets[:-1]
        piece.open = brackets
        if piece.text in _OPENING or piece.text == "lambda":
            brackets = (*brackets, number)


def _broken(pieces: list[_Piece], limit: int, kept: set[str], newline: str) -> str:
    tried: set[str] = set()
    while True:
        rows = _rows(pieces)
        for start, stop in rows:
            row = _text(pieces[start:stop]).lstrip("\\\r\n")
            if (
                len(row) <= limit
                or row in kept
                or row in tried
                or any(p.text.startswith("#") for p in pieces[start:stop])
            ):
                continue
            tried.add(row)
            best = min(_breaks(pieces, start, stop, limit), key=dataclasses.astuple, default=None)
            added = _with_parentheses(pieces, best) if len(rows) == 1 else []
            if added:
                pieces = added
                break
            if best is not None:
                _break(pieces, -best.behind, best.column, stop, newline)
                break
        else:
            return _text(pieces)


def _text(pieces: list[_Piece]) -> str:
    return "".join(piece.gap + piece.text for piece in pieces)


def _rows(pieces: list[_Piece]) -> list[tuple[int, int]]:
    """The first piece of each line, and the one behind its last."""
    starts = [number for number, piece in enumerate(pieces) if number == 0 or "\n" in piece.gap]
    return list(zip(starts, [*starts[1:], len(pieces)], strict=True))


def _breaks(pieces: list[_Piece], start: int, stop: int, limit: int) -> Iterator[_Break]:
    """Where the line of these pieces may be broken, as far as what stays is not too long."""
    column = indent = len(pieces[start].gap.rpartition("\n")[2])
    columns: dict[int, int] = {}
    for number in range(start, stop):
        column += len(pieces[number].gap) if number > start else 0
        columns[number] = column
        column += len(pieces[number].text)
    hanging = indent + _step(pieces[start].gap) * (2 if start == 0 and pieces[0].text in _WITH_SUITE else 1)
    outside = len(pieces[start].open)
    for number in range(start + 1, stop):
        piece, last = pieces[number], pieces[number - 1]
        end = columns[number - 1] + len(last.text)
        if (
            not piece.open
            or end > limit
            or piece.text in _CLOSING
            or any(pieces[n].text == "lambda" for n in piece.open)
        ):
            continue
        bracket = piece.open[-1]
        depth = len(piece.open) - outside
        rest = column - columns[number]
        if bracket == number - 1:  # all that is in the bracket
            if columns[number] - hanging >= _GAIN:
                yield _Break(depth, hanging + rest > limit, 2, -number, hanging)
        elif (kind := _kind(last, piece)) is not None:
            rows = [
                n for n in range(bracket + 1, len(pieces)) if "\n" in pieces[n].gap and pieces[n].open == piece.open
            ]
            below = _column(pieces, (rows or [bracket + 1])[0])  # beside what stands there already
            if below < columns[number]:
                kind += 3 * (pieces[bracket].text == "[" and _is_operand(pieces[bracket - 1].text))  # an index
                yield _Break(depth, below + rest > limit, kind, -number, below)


def _step(indent: str) -> int:
    """The characters of one more level: four blanks, or a tab where tabs are."""
    return 1 if indent.endswith("\t") else 4


def _column(pieces: list[_Piece], number: int) -> int:
    return len((_text(pieces[:number]) + pieces[number].gap).rpartition("\n")[2])


def _kind(last: _Piece, piece: _Piece) -> int | None:
    """How good a place between two pieces is: 0 behind a comma, 1 before an operator; None: none."""
    if last.text == ",":
        return 0
    if piece.text in _BEFORE_WORDS:
        return 1
    return 1 if piece.text in _OPERATORS and piece.gap and _is_operand(last.text) else None


def _is_operand(text: str) -> bool:
    """Whether a piece ends a value: an operator behind it has two sides, and a bracket is a call or an index."""
    return text in _CLOSING or (text[0].isalnum() or text[0] in "_'\"") and not keyword.iskeyword(text)


def _break(pieces: list[_Piece], number: int, column: int, stop: int, newline: str) -> None:
    """Lets a piece begin a line; lines below that stand under a bracket which moves go with it."""
    was = _column(pieces, number)
    line = _text(pieces[:number]).rpartition("\n")[2]
    lead = line[: len(line) - len(line.lstrip())][:column]
    more = column - len(lead)
    pieces[number].gap = newline + lead + ("\t" if lead.endswith("\t") and more <= 2 else " ") * more
    moved = set(range(number - 1 if number - 1 in pieces[number].open else number, stop))
    for piece in pieces[stop:]:
        if "\n" in piece.gap and moved & set(piece.open):
            head, _, blanks = piece.gap.rpartition("\n")
            shift = column - was
            piece.gap = head + "\n" + (blanks + " " * shift if shift > 0 else blanks[:shift])


def _with_parentheses(pieces: list[_Piece], best: _Break | None) -> list[_Piece]:
    """``return a, b``, ``x = a + b`` and ``from m import a, b`` with parentheses around what may be broken; or nothing.

    A sum keeps its brackets where the ``best`` place of the line is behind a comma inside of one of its parts.
    """
    outside = [number for number, piece in enumerate(pieces) if not piece.open]
    begins = [number for number in outside if pieces[number].text in _VALUES_BEHIND]
    first = begins[-1] + 1 if begins else len(pieces)
    if {pieces[number].text for number in outside} & {"lambda", ";", ":"} or first >= len(pieces):
        return []
    if (pieces[first - 1].text == "import") != (pieces[0].text == "from") or pieces[-1].text == ",":
        return []
    ends = [(pieces[number - 1], pieces[number]) for number in outside if number > first]
    kinds = {_kind(last, piece) for last, piece in ends} - {None}
    chosen = any(piece.text in _BEFORE_WORDS for _, piece in ends)  # `a if b else c`
    if not kinds or (best is not None and best.kind == 0 and 0 not in kinds and not chosen):
        return []
    added = [*pieces[:first], _Piece(pieces[first].gap, "("), *pieces[first:], _Piece("", ")")]
    added[first + 1] = _Piece("", pieces[first].text)
    _number_brackets(added)
    return added


__all__ = ["with_short_lines"]
