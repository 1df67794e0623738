"""Which files may be Python 2: decided on their text, before anything is parsed."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from typing import AnyStr

from chainer2torch.analysis.parsing import parse

# Words and signs of which a file of Python 2 that Python 3 does not parse has one: only with them it is parsed. By what
# each needs, one of which is looked for first; and each begins with what it looks for, which is how `re` is fast.
_SIGNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("print", "exec"), r"^[ \t]*(?:print|exec)\b(?![ \t]*[(=.])"),
    (("print",), r"print(?<=\bprint)(?:[ \t]*>>|[ \t]+['\"\w])"),
    (("except",), r"except(?<=\bexcept)(?:\b[^:\n(]*,[^:\n]*:|[ \t]*\(.*\),)"),
    (("raise",), r"raise(?<=\braise)[ \t]+[\w.]+[ \t]*,"),
    (("<>",), r"<>"),
    (("`",), r"`"),
    ((), r"\d(?<![\w.]\d)(?:(?<=0)[0-7]+\b|\d*[lL]\b|(?<=0)[xX][\da-fA-F]+[lL]\b)"),
    (("r'", 'r"', "R'", 'R"'), r"[uU](?<=\b[uU])[rR]['\"]"),
    (("lambda",), r"lambda(?<=\blambda)[ \t]*\("),
    (("def",), r"def(?<=\bdef)\b[^\n]*\([^\n)]*\("),
    (("def",), r"def(?<=\bdef)[ \t]+\w+[ \t]*\([^()=:]*\("),  # a parameter in brackets on a line of its own
)
_CHEVRON = re.compile(r"\bprint[ \t]*>>")
_TAB, _BLANK = re.compile(r"^ *\t", re.MULTILINE), re.compile(r"^ ", re.MULTILINE)
_OF_TEXT = tuple((words, re.compile(sign, re.MULTILINE)) for words, sign in _SIGNS)
_OF_BYTES = tuple(
    (tuple(word.encode() for word in words), re.compile(sign.encode(), re.MULTILINE)) for words, sign in _SIGNS
)
_TABS_OF_BYTES = tuple(re.compile(pattern.pattern.encode(), re.MULTILINE) for pattern in (_TAB, _BLANK))


def may_be_python2(text: str | bytes) -> bool:
    """Whether a text has something that Python 2 parses and Python 3 does not; tabs count where blanks indent, too."""
    if isinstance(text, bytes):
        return _has_sign(_OF_BYTES, text) or b"\t" in text and all(tabs.search(text) for tabs in _TABS_OF_BYTES)
    return _has_sign(_OF_TEXT, text) or "\t" in text and all(tabs.search(text) for tabs in (_TAB, _BLANK))


def _has_sign(signs: Iterable[tuple[tuple[AnyStr, ...], re.Pattern[AnyStr]]], text: AnyStr) -> bool:
    return any(
        sign.search(text) is not None for words, sign in signs if not words or any(word in text for word in words)
    )


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
        statements = [node.value for node in ast.walk(parse(text)) if isinstance(node, ast.Expr)]
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
            parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return error
    return None
