"""Where the values of a JSON text lie, so that one of them can be replaced and every other byte stays."""

from __future__ import annotations

import dataclasses
import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^ \t\r\n,\]}]+")


@dataclasses.dataclass(frozen=True)
class Node:
    """A value and its offsets; ``value`` is a dict or list of nodes, or a Python scalar."""

    value: object
    start: int
    end: int

    def get(self, key: str) -> Node | None:
        """The member of an object."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    def items(self) -> list[Node]:
        """The elements of an array."""
        return self.value if isinstance(self.value, list) else []

    def text(self) -> str | None:
        """The value of a string."""
        return self.value if isinstance(self.value, str) else None


def parse(text: str) -> Node:
    """The nodes of a JSON text. Raises ``json.JSONDecodeError`` when it is none."""
    json.loads(text)  # says what is wrong, and where; what follows relies on it
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, start: int) -> Node:
    first = text[start]
    if first == '"':
        value, end = scanstring(text, start + 1, True)
        return Node(value, start, end)
    if first == "{":
        return _object(text, start)
    if first == "[":
        return _array(text, start)
    match = _SCALAR.match(text, start)
    assert match is not None
    return Node(json.loads(match[0]), start, match.end())


def _object(text: str, start: int) -> Node:
    members: dict[str, Node] = {}
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1, True)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        members[key] = _value(text, at)
        at = _skip(text, members[key].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node(members, start, at + 1)


def _array(text: str, start: int) -> Node:
    elements: list[Node] = []
    at = _skip(text, start + 1)
    while text[at] != "]":
        elements.append(_value(text, at))
        at = _skip(text, elements[-1].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node(elements, start, at + 1)
