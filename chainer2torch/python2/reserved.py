"""``async`` as a name, which it is no more since Python 3.7: programs for threads have modules of that name."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterator

_WORD = re.compile(r"\basync\b(?![ \t]+(?:def|with|for)\b)")
_IMPORT = re.compile(
    r"^(?P<indent>[ \t]*)(?:import[ \t]+async|from[ \t]+(?P<package>[\w.]+)[ \t]+import[ \t]+async)"
    r"(?:[ \t]+as[ \t]+(?P<name>\w+))?(?P<rest>[ \t]*(?:#.*)?)$",
    re.MULTILINE,
)
_FROM = re.compile(
    r"^(?P<indent>[ \t]*)from[ \t]+(?P<module>(?:[\w.]*\.)?async)[ \t]+import"
    r"[ \t]+(?P<names>\w[\w, \t]*)(?P<rest>(?:#.*)?)$",
    re.MULTILINE,
)
_OF_ASYNC = frozenset({"def", "with", "for"})


def suspected(text: str) -> bool:
    """Whether a text may have the word as a name: only then it is parsed."""
    return "async" in text and _WORD.search(text) is not None


def renamed(text: str, known: Collection[str]) -> str | None:
    """The text with ``async_`` in its place; a module of that name is found by its name. None: that is not all.

    ``known`` are the files of the project: a member ``x.async`` may be such a module, which keeps its name.
    """
    new = _FROM.sub(_names_from, _IMPORT.sub(_module, text))
    try:
        places = list(_places(new))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return None
    is_module = any(path.rpartition("/")[2] == "async.py" for path in known)
    if is_module and any(member for _, member in places):
        return None
    lines = new.splitlines(keepends=True)
    for (line, column), _ in reversed(places):
        lines[line - 1] = f"{lines[line - 1][:column]}async_{lines[line - 1][column + len('async') :]}"
    return "".join(lines)


def _places(text: str) -> Iterator[tuple[tuple[int, int], bool]]:
    """Where the word is a name, and whether as the member of something."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for before, token, after in zip([tokens[0], *tokens], tokens, [*tokens[1:], tokens[-1]]):
        if token.string == "async" and token.type == tokenize.NAME and after.string not in _OF_ASYNC:
            yield token.start, before.string == "."


def _module(found: re.Match[str]) -> str:
    return _imported(found, f"{found['name'] or 'async_'} = {_loaded(found['package'], 'async')}")


def _names_from(found: re.Match[str]) -> str:
    pairs = [part.split(" as ") for part in found["names"].split(",") if part.strip()]
    made = _loaded(None, found["module"])
    lines = [f"{pair[-1].strip()} = {made}.{pair[0].strip()}" for pair in pairs]
    return _imported(found, f"\n{found['indent']}".join(lines))


def _imported(found: re.Match[str], statement: str) -> str:
    return f"{found['indent']}import importlib\n{found['indent']}{statement}{found['rest']}"


def _loaded(package: str | None, module: str) -> str:
    name = f"{package}{'' if package.endswith('.') else '.'}{module}" if package else module
    return f"importlib.import_module('{name}'{', __package__' if name.startswith('.') else ''})"
