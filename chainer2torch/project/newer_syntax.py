"""Whether a syntax error is only Python's age: the file is written for a newer Python than the one that runs here."""

from __future__ import annotations

import re
import sys

# What the line of the error has, since which Python, and what it is called. Names that can be anything else in older
# Pythons (`type`, `except A, B` of Python 2) are confirmed by LibCST, which reads the syntax of every Python 3.
_NEWER = (
    ((3, 11), re.compile(r"^\s*except\s*\*"), "`except*`"),
    ((3, 11), re.compile(r"\[[^\]]*\*\w|\*\w+\s*:\s*\*"), "a star in an index or annotation"),
    ((3, 12), re.compile(r"^\s*type\s+\w+\s*(\[.*\]\s*)?="), "a `type` statement"),
    ((3, 13), re.compile(r"^\s*(?:class|(?:async\s+)?def)\s+\w+\s*\[[^\](]*="), "defaults of type parameters"),
    ((3, 12), re.compile(r"^\s*(?:class|(?:async\s+)?def)\s+\w+\s*\["), "type parameters in brackets"),
    ((3, 14), re.compile(r"(?i)\b(?:t|rt|tr)(?:'|\")"), "a template string"),
)
_NESTED = re.compile(r"(?i)\b(?:f|rf|fr)(?:'|\")")


def newer_syntax(text: str, line: str, message: str, here: tuple[int, int] = sys.version_info[:2]) -> str:
    """``needs Python 3.12 (...)`` where a newer Python would parse the text; empty where it would not.

    ``line`` is where the parser of the Python ``here`` stopped, ``message`` what it said.
    """
    found = next(((since, what) for since, form, what in _NEWER if here < since and form.search(line)), None)
    if found is None and here < (3, 12) and _in_braces(line, message):
        found = (3, 12), "quotes, line ends or comments inside the braces of an f-string"
    if found is None or not _parses(text):
        return ""
    (major, minor), what = found
    return f"needs Python {major}.{minor} or newer ({what}); install chainer2torch there, or write it the older way"


def _in_braces(line: str, message: str) -> bool:
    """Whether the error can lie inside the braces of an f-string; of one with several lines the last is given."""
    if message.startswith("f-string"):
        return True
    return ("string literal" in message or "invalid syntax" in message) and _NESTED.search(line) is not None


def _parses(text: str) -> bool:
    import libcst

    try:
        libcst.parse_module(text)
    except Exception:  # noqa: B902 - whatever it is, the error of Python's own parser is what is said
        return False
    return True
