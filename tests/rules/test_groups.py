"""A note, a signature and an example stand once: rows that are equal but for their name are in one group."""

import re
import tomllib
from pathlib import Path

import pytest

RULES = Path(__file__).resolve().parents[2] / "rules"
TABLES = sorted(path.relative_to(RULES).as_posix() for path in RULES.rglob("*.toml"))


def without_name(value, words):
    """A value of a row in which the words of the row's name are taken out."""
    if isinstance(value, dict):
        return sorted((key, without_name(part, words)) for key, part in value.items())
    if isinstance(value, list):
        return [without_name(part, words) for part in value]
    if isinstance(value, str):
        for word in words:
            value = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", "<>", value)
    return value


def equal_rows(text):
    """The names of rows that could be one group, for each such group; groups count as one row."""
    found = {}
    for name, fields in tomllib.loads(text).items():
        if isinstance(fields, dict) and name not in ("module_aliases", "libraries"):
            parts = name.split(".")
            words = [name.rpartition(".")[0] or name, *parts[:-3:-1]]
            found.setdefault(repr(without_name(fields, words)), []).append(name)
    return [names for names in found.values() if len(names) > 1]


@pytest.mark.parametrize("table", TABLES)
def test_no_two_rows_are_equal_but_for_their_name(table):
    assert equal_rows((RULES / table).read_text()) == [], "write them once, under [[same]] (docs/adding-a-rule.md)"


def test_equal_rows_are_seen():
    text = '["a.One"]\ntorch = "torch.a(x)"\n["b.Two"]\ntorch = "torch.b(x)"\n[c]\ntorch = "torch.d(x)"\n'
    assert equal_rows(text) == [["a.One", "b.Two"]]
