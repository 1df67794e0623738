"""``# chainer2torch: skip``: places that the user keeps as they are.

    x = F.relu(x)  # chainer2torch: skip         the statement on this line; after `def`, `if` ... its block
    # chainer2torch: skip                        on a line of its own: the next statement
    # chainer2torch: skip-start / skip-end       everything between (without an end: the rest of the file)
    # chainer2torch: skip-file                   the file

Nothing is changed there. The sites stay in the report, as ``manual`` with the code C2T012, because the code still
needs Chainer; ``ignore = ["C2T012"]`` leaves them out.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

from chainer2torch.analysis.source import Source

CODE = "C2T012"
MESSAGE = "skipped on request"
_COMMENT = re.compile(r"#\s*chainer2torch:\s*(skip(?:-\w+)?)\b")


class Skipped:
    """The lines of one file that are left alone."""

    def __init__(self, ranges: list[tuple[int, int]]):
        self._ranges = sorted(ranges)

    @classmethod
    def of(cls, source: Source) -> Skipped:
        """Reads the comments of a file; a text in a string is none."""
        if "chainer2torch:" not in source.text:
            return cls([])
        ranges: list[tuple[int, int]] = []
        start: int | None = None
        last = len(source.line_starts)
        for line, word, own_line in _comments(source.text):
            if word == "skip-file":
                ranges.append((1, last))
            elif word == "skip-start" and start is None:
                start = line
            elif word == "skip-end" and start is not None:
                ranges.append((start, line))
                start = None
            elif word == "skip":
                ranges.append(_statement(source, line, own_line) or (line, line))
        if start is not None:
            ranges.append((start, last))
        return cls(ranges)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def line(self, number: int) -> bool:
        """Whether a line is left alone."""
        return any(first <= number <= last for first, last in self._ranges)

    def node(self, node: ast.AST) -> bool:
        """Whether a node starts on a line that is left alone."""
        return self.line(getattr(node, "lineno", 0))

    def inside(self, node: ast.AST) -> bool:
        """Whether some line of a node is left alone."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        return any(a <= last and first <= b for a, b in self._ranges)


def _comments(text: str) -> list[tuple[int, str, bool]]:
    """Line, word and whether it stands alone on its line, of each comment to us."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if match:
                found.append((token.start[0], match[1], not token.line[: token.start[1]].strip()))
    except (tokenize.TokenError, SyntaxError):  # what ast takes and tokenize does not: nothing more to read
        pass
    return found


def _statement(source: Source, line: int, own_line: bool) -> tuple[int, int] | None:
    """The lines of the statement that a comment means: around its line, or the first behind it."""
    best: tuple[int, int] | None = None
    for node in source.nodes:
        if not isinstance(node, ast.stmt):
            continue
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        last = node.end_lineno or first
        if own_line:
            if first > line and (best is None or first < best[0]):  # outer statements come first
                best = first, last
        elif first <= line <= _header_end(node) and (best is None or first >= best[0]):
            best = first, last
    return best


def _header_end(node: ast.stmt) -> int:
    """The last line of what stands before the block of a compound statement; of others their last line."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        inner: int = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", ()))])
        return max(node.lineno, inner - 1)
    return node.end_lineno or node.lineno


__all__ = ["CODE", "MESSAGE", "Skipped"]
