"""Tables of helpers by name, ``getattr(OptimizersByName, config['optimizer'])``: which of their rows a project gets.

A row is marked ``# where: chosen_Adam``. A project that keeps its settings in files names its choices there, and then
the table holds what its files name; another name is an error that says so. Where no such file names one of the table,
all of it stays.

A row that is marked ``# where: named_maxout`` stays where a program or such a file says the name: functions of many
lines are hardly ever chosen on a command line alone, and one that is raises.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

PREFIX = "chosen_"
NAMED = "named_"
_MARK = re.compile(rf"# where: {PREFIX}(\w+)")
_NAMED_MARK = re.compile(rf"# where: {NAMED}(\w+)")


def choices(texts: Iterable[str], said: Collection[str], settings: Collection[str]) -> set[str]:
    """The words that keep the rows of tables: ``said`` in the programs of a project, ``settings`` in other files."""
    found: set[str] = set()
    for text in texts:
        names = set(_MARK.findall(text))
        wanted = names & {*said, *settings} if names & set(settings) else names
        found |= {PREFIX + name for name in wanted}
        found |= {NAMED + name for name in {*_NAMED_MARK.findall(text)} & {*said, *settings}}
    return found


def has_choices(names: Iterable[str]) -> bool:
    """Whether one of these helpers is such a table."""
    return any(name.endswith("ByName") for name in names)


__all__ = ["choices", "has_choices"]
