"""Rule tables cut into the texts of their rows, so that a row is read when it is asked for and not before.

A migration uses some three hundred of the rows, and reading TOML is slow: all of them took a tenth of a second.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, overload

# `[name]` or `["dotted.name"]` begins a row, `[[same]]` with the list of its names a group of rows;
# `[[name.example]]` belongs to either. Both begin with letters of the text, not with `^`: a search for letters is fast.
_HEADING = re.compile(
    r'\n\[(?:(?:"(?P<quoted>[\w.?*]+)"|(?P<plain>[\w-]+))\][ \t]*(?=\n)'
    r'|\[same\]\][ \t]*\nnames = \[(?P<names>(?:\s*"[\w.?*]+"\s*,?)+)\s*\](?=\n))'
)
_BRACKETS = re.compile(r"\n\[(?!\[[^\[\]\n]+\.example\]\][ \t]*\n)[^\n]*\][ \t]*(?:#[^\n]*)?(?=\n)")
_NAME = re.compile(r'"([^"]+)"')

V = TypeVar("V")
D = TypeVar("D")


@dataclasses.dataclass(frozen=True)
class Part:
    """The text of one row, or of a group of rows, and the names of these rows."""

    names: tuple[str, ...]
    text: str
    group: bool


def cut(text: str) -> tuple[str, list[Part]] | None:
    """What stands above the rows of a table, and the texts of its rows, those of groups last.

    None when a line begins like a heading and is none: such a table has to be read as a whole.
    """
    lines = f"\n{text}\n"  # so that each line begins behind a newline, and ends before one
    headings = list(_HEADING.finditer(lines))
    if not headings or len(headings) != len(_BRACKETS.findall(lines)):
        return None
    starts = [heading.start() for heading in headings]  # in the text, as much as behind the newline in `lines`
    parts = [_part(found, text[start:end]) for found, start, end in zip(headings, starts, [*starts[1:], len(text)])]
    return text[: starts[0]], sorted(parts, key=lambda part: part.group)


def _part(heading: re.Match[str], text: str) -> Part:
    if heading["names"]:
        return Part(tuple(_NAME.findall(heading["names"])), text, group=True)
    return Part((heading["quoted"] or heading["plain"],), text, group=False)


class Later(Generic[V]):
    """A value that is made when it is first asked for."""

    def __init__(self, make: Callable[[], V]):
        self._make = make
        self._made: list[V] = []

    def value(self) -> V:
        """The value; what making it raises is raised."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]


class Rows(Mapping[str, V]):
    """A dictionary some values of which are made when they are first asked for."""

    def __init__(self, entries: Mapping[str, V | Later[V]]):
        self._entries = dict(entries)

    def merged(self, others: Mapping[str, V]) -> Rows[V]:
        """These rows and those of ``others`` that have no row here."""
        entries = others._entries if isinstance(others, Rows) else others
        return Rows({**entries, **self._entries})

    def __getitem__(self, name: str) -> V:
        entry = self._entries[name]
        if isinstance(entry, Later):
            entry = self._entries[name] = entry.value()
        return entry

    @overload
    def get(self, name: str, /) -> V | None: ...

    @overload
    def get(self, name: str, /, default: V | D) -> V | D: ...

    def get(self, name: str, /, default: Any = None) -> Any:
        """The row of a name, ``default`` when it has none."""
        return self[name] if name in self._entries else default

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
