"""Rows that are equal but for their name stand once in a table, under a heading ``[[same]]``.

``names`` lists them. In the texts of such a group ``{name}`` stands for the last part of a row's name, ``{owner}`` for
the part before it, and ``{path}`` for all that stands before the last part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

HEADING = "same"
_WORD = re.compile(r"\{(name|owner|path)\}")


def rows_of_groups(data: dict[str, Any], problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the keys of each row that stands in a group of a table; the groups are taken out of ``data``."""
    groups = data.pop(HEADING, [])
    if not isinstance(groups, list):
        problems.append(f"`{HEADING}` is the heading of a group of rows; write [[{HEADING}]]")
        return
    for number, group in enumerate(groups, 1):
        problem = _problem(group)
        if problem:
            problems.append(f"group {number} of [[{HEADING}]]: {problem}")
            continue
        for name in group["names"]:
            yield name, _of(name, group)


def _problem(group: Any) -> str | None:
    """What is wrong with a group."""
    names = group.get("names") if isinstance(group, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return "`names` is the list of the rows' names"
    if len(names) < 2:
        return "a group has two names at least; a single row stands under its own heading"
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"`names` has {', '.join(twice)} twice"
    used = set(_WORD.findall(repr(group)))
    empty = [(word, name) for name in names for word, text in _words(name).items() if word in used and not text]
    return "`{{{}}}` stands for nothing in the name {}".format(*empty[0]) if empty else None


def row_of_group(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The keys of one row of the only group in ``data``."""
    (group,) = data[HEADING]
    return _of(name, group)


def _of(name: str, group: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a group as they are for the row of this name."""
    words = _words(name)
    return {key: _filled(value, words) for key, value in group.items() if key != "names"}


def _words(name: str) -> dict[str, str]:
    """What the words in braces stand for in the row of this name."""
    path, _, last = name.rpartition(".")
    return {"name": last, "owner": path.rpartition(".")[2], "path": path}


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(part, words) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, words) for part in value]
    return _WORD.sub(lambda found: words[found[1]], value) if isinstance(value, str) else value
