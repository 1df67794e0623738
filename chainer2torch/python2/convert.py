"""Runs the fixers of fissix over one text."""

from __future__ import annotations

import dataclasses
import functools
import io
import logging
import re
from collections.abc import Collection
from typing import Any

from chainer2torch.python2 import byte_buffers, pickles, tabs
from chainer2torch.python2.suspects import parses, syntax_error

# What changes the spelling, or keeps the meaning of Python 2 where Python 3 has another: lists from map and keys().
# Left out: buffer, idioms, set_literal and ws_comma (matters of taste), future (`from __future__` does no harm).
_FIXERS = (
    *("apply", "asserts", "basestring", "dict", "except", "exec", "execfile", "exitfunc", "filter", "funcattrs"),
    *("getcwdu", "has_key", "imports", "imports2", "input", "intern", "itertools", "itertools_imports", "long", "map"),
    *("metaclass", "methodattrs", "ne", "next", "nonzero", "numliterals", "operator", "paren", "raise"),
    *("raw_input", "reduce", "reload", "renames", "repr", "standarderror", "sys_exc", "throw", "tuple_params", "types"),
    *("unicode", "urllib", "xrange", "xreadlines", "zip"),
)
_WARNING = re.compile(r"Line (\d+): (.*)", re.DOTALL)
_NEWLINE = re.compile(r"\r\n|\r")
# What Python 2 has no form of: a file with one of these is Python 3 with a mistake in it.
_ONLY_PYTHON3 = frozenset({"->", ":="})
_TUPLE = re.compile(r"^[ \t]*(\([^=\n]*\)) = (xxx_todo_changeme\d*)$", re.MULTILINE)
_TWICE = re.compile(r"^([ \t]*import )(\w+) as \2(?=[ \t]*(?:#.*)?$)", re.MULTILINE)  # of `import cPickle as pickle`
_WORD = re.compile(r"[^\W\d]\w*")
_LONGEST_NAME = 30
_PYTHON3_STRING = re.compile(r"[bBrRuU]*[fF]")


@dataclasses.dataclass(frozen=True)
class Converted:
    """A text that Python 3 parses, and what the fixers say of it: pairs of a line of the old text and a sentence."""

    text: str
    warnings: tuple[tuple[int, str], ...] = ()


def convert(text: str, siblings: Collection[str] = ()) -> Converted | None:
    """The text as Python 3; None when it is no Python 2 either, or when it needs more than the fixers can do."""
    newline = found[0] if (found := _NEWLINE.search(text)) else "\n"
    plain = _NEWLINE.sub("\n", text)
    if _is_python3(plain):
        return None
    tool = _tool(frozenset(siblings))
    tool.fixer_log.clear()
    try:
        tree = tool.refactor_string(plain if plain.endswith("\n") else plain + "\n", "the file")
    except Exception:  # whatever it does not understand: the file is named as one that does not parse
        return None
    if _is_annotated(tree):
        return None
    new = _named_tuples(str(tree))
    if not plain.endswith("\n"):
        new = new.removesuffix("\n")
    if isinstance(syntax_error(new), IndentationError):
        new = tabs.indented_anew(new)
    if not parses(new):
        return None
    new = byte_buffers.of_bytes(pickles.as_bytes(_TWICE.sub(r"\1\2", new)))
    said = tuple((int(found[1]), found[2]) for line in tool.fixer_log if (found := _WARNING.match(line)))
    return Converted(new.replace("\n", newline), said)


def _named_tuples(text: str) -> str:
    """``def f((a, b)):`` has a parameter without a name; it gets one of those that it is taken apart into."""
    words = set(_WORD.findall(text))
    for found in set(_TUPLE.findall(text)):
        names = "_".join(_WORD.findall(found[0]))
        if len(names) <= _LONGEST_NAME and names not in words:
            text = re.sub(rf"\b{found[1]}\b", names, text)
    return text


@functools.lru_cache(maxsize=4)
def _tool(siblings: frozenset[str]) -> Any:
    """Making one costs as much as a file; most files have the same siblings."""
    from fissix import refactor

    logging.getLogger("RefactoringTool").setLevel(logging.CRITICAL)
    names = [f"fissix.fixes.fix_{name}" for name in _FIXERS]
    own = [f"chainer2torch.python2.fixes.fix_{name}" for name in ("import", "print")]
    return refactor.RefactoringTool([*names, *own], {"siblings": siblings})


def _is_python3(text: str) -> bool:
    """Whether a text has what only Python 3 has."""
    from fissix.pgen2 import token, tokenize

    before = ""
    try:
        for kind, word, _, _, _ in tokenize.generate_tokens(io.StringIO(text).readline):
            if kind == token.OP and word in _ONLY_PYTHON3 or kind == token.STRING and _PYTHON3_STRING.match(word):
                return True
            if word == "nonlocal" or word == "def" and before == "async":
                return True
            before = word
    except (tokenize.TokenError, IndentationError):
        return True
    return False


def _is_annotated(tree: Any) -> bool:
    """Whether a tree has annotations, which Python 2 has not."""
    from fissix.pygram import python_symbols

    return any(node.type in (python_symbols.annassign, python_symbols.tname) for node in tree.pre_order())
