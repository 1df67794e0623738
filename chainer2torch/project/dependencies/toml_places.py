"""Where keys and strings of a TOML text lie; the values themselves are read by tomllib."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_KEY = re.compile(rf"(?:{_PART.pattern})(?:[ \t]*\.[ \t]*(?:{_PART.pattern}))*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\r\n#]+")


@dataclasses.dataclass(frozen=True)
class String:
    """A string of an array: its value and where it lies, the quotes not included."""

    value: str
    start: int
    end: int
    quote: str


@dataclasses.dataclass(frozen=True)
class Entry:
    """``key = value``: the dotted path from the top, its place, and the strings when the value is an array."""

    path: tuple[str, ...]
    start: int
    value_start: int
    end: int
    strings: tuple[String, ...] | None


def scan(text: str) -> Iterator[Entry]:
    """All entries of a TOML text. ``ValueError`` when it is not well formed."""
    tomllib.loads(text.replace("\r\n", "\n"))  # says what is wrong; what follows relies on it
    at = _skip(text, 0)
    table: tuple[str, ...] = ()
    while at < len(text):
        if text[at] == "[":
            inner = at + (2 if text.startswith("[[", at) else 1)
            match = _KEY.match(text, _skip(text, inner))
            assert match is not None
            table = _parts(match[0])
            at = _skip(text, text.index("]", match.end()) + (2 if inner - at == 2 else 1))
            continue
        key = _KEY.match(text, at)
        assert key is not None
        start = _skip(text, text.index("=", key.end()) + 1)
        end, strings = _value(text, start)
        yield Entry((*table, *_parts(key[0])), at, start, end, strings)
        at = _skip(text, end)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in _PART.findall(key))


def _value(text: str, at: int) -> tuple[int, tuple[String, ...] | None]:
    """Where a value ends, and the strings of an array."""
    string = _STRING.match(text, at)
    if string:
        return string.end(), None
    if text[at] not in "[{":
        scalar = _SCALAR.match(text, at)
        assert scalar is not None
        return at + len(scalar[0].rstrip()), None
    closing = "]" if text[at] == "[" else "}"
    found: list[String] = []
    at = _skip(text, at + 1)
    while text[at] != closing:
        string = _STRING.match(text, at) if closing == "]" else None
        if string:
            quote = string[0][:3] if string[0][:3] in ('"""', "'''") else string[0][0]
            value = tomllib.loads(f"x = {string[0]}")["x"]
            found.append(String(value, at + len(quote), string.end() - len(quote), quote))
            at = _skip(text, string.end())
        elif closing == "}":
            key = _KEY.match(text, at)
            assert key is not None
            at = _skip(text, _value(text, _skip(text, text.index("=", key.end()) + 1))[0])
        else:
            at = _skip(text, _value(text, at)[0])
        if text[at] == ",":
            at = _skip(text, at + 1)
    return at + 1, tuple(found) if closing == "]" else None
