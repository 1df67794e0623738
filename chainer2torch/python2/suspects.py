"""Which files may be Python 2: decided on their text, before anything is parsed."""

from __future__ import annotations

import ast
import re
import warnings

# Words and signs of which a file of Python 2 that Python 3 does not parse has one: only with them it is parsed.
_SUSPECT = re.compile(
    r"^[ \t]*(?:print|exec)\b(?![ \t]*[(=.])|\bprint[ \t]*>>|\bexcept\b[^:\n(]*,[^:\n]*:|\bexcept[ \t]*\(.*\),"
    r"|\braise[ \t]+[\w.]+[ \t]*,|<>|`|(?<![\w.])0[0-7]+\b|(?<![\w.])\d+[lL]\b|(?<![\w.])0[xX][\da-fA-F]+[lL]\b"
    r"|\b[uU][rR]['\"]|\bprint[ \t]+['\"\w]|\blambda[ \t]*\(|\bdef\b[^\n]*\([^\n)]*\(",
    re.MULTILINE,
)
_CHEVRON = re.compile(r"\bprint[ \t]*>>")
_TAB, _BLANK = re.compile(r"^ *\t", re.MULTILINE), re.compile(r"^ ", re.MULTILINE)
_TEXT = (_SUSPECT, _TAB, _BLANK)
_BYTES = tuple(re.compile(pattern.pattern.encode(), re.MULTILINE) for pattern in _TEXT)


def may_be_python2(text: str | bytes) -> bool:
    """Whether a text has something that Python 2 parses and Python 3 does not; tabs count where blanks indent, too."""
    if isinstance(text, bytes):
        found = [pattern.search(text) is not None for pattern in _BYTES]
    else:
        found = [pattern.search(text) is not None for pattern in _TEXT]
    return found[0] or found[1] and found[2]


def is_python2(raw: bytes) -> bool:
    """Whether a file may be Python 2 and Python 3 does not parse it."""
    return may_be_python2(raw) and not parses(raw.decode("utf-8", "replace"))


def parses(text: str) -> bool:
    """Whether Python 3 parses a text, and reads it as Python 2 does: ``print >> file, text`` is a TypeError in 3."""
    error = syntax_error(text)
    if error is not None:
        return not isinstance(error, SyntaxError)
    return not (_CHEVRON.search(text) and _prints_to_a_file(text))


def _prints_to_a_file(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statements = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    heads = [value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value for value in statements]
    return any(
        isinstance(head, ast.BinOp)
        and isinstance(head.op, ast.RShift)
        and isinstance(head.left, ast.Name)
        and head.left.id == "print"
        for head in heads
    )


def syntax_error(text: str) -> Exception | None:
    """Why Python 3 does not parse a text; None when it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in strings
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return error
    return None
