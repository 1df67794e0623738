"""Reads the files of the rule tables: their rows, all at once or each when it is asked for, and their problems."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chainer2torch.rules.groups import row_of_group, rows_of_groups
from chainer2torch.rules.lazy_tables import Later, Part, cut
from chainer2torch.rules.row import ROW_KEYS, Row, check, row_of, unknown_keys

try:  # compiled, it reads the rows of a migration three times as fast
    import tomli as tomllib
except ImportError:
    import tomllib  # type: ignore[no-redef]


class RulesError(Exception):
    """A table is not well formed; the message names the file, the row and the remedy, one problem a line."""


@dataclasses.dataclass(frozen=True)
class Library:
    """A library that is built on Chainer, by the name that is imported: its name in print, what to install for it
    (``package``), what takes its place in PyTorch, and a sentence for the report."""

    module: str
    name: str
    package: str
    counterpart: str
    note: str = ""

    @property
    def advice(self) -> str:
        """What the report says where it is used."""
        return f"{self.name} is built on Chainer; its counterpart for PyTorch: {self.counterpart}. {self.note}".strip()


def read_table(
    path: Path, label: str, problems: list[str], lazy: bool
) -> tuple[dict[str, Any], list[tuple[str, Row | Later[Row]]]]:
    """What a table says above its rows, and its rows by name."""
    text = text_of(path, label, problems)
    parts = cut(text) if lazy else None
    about = parsed(parts[0], label, problems) if parts else {}
    if parts is None or "module" not in about:
        data = parsed(text, label, problems)
        about = {key: data.pop(key) for key in ("era", "kind", "module_aliases", "libraries") if key in data}
        return about, [(row.name, row) for row in _rows(data, label, problems, about.get("kind", ""))]
    place = _Place(prefix_of(about["module"]), label, about.get("kind", ""))
    found = [later for part in parts[1] for later in _laters(part, place)]
    return about, found


def fields_of(
    path: Path, label: str, problems: list[str], lazy: bool
) -> tuple[dict[str, Any], list[tuple[str, Later[dict[str, Any]]]]]:
    """What a table of the native style says above its rows, and the keys of each row by its name."""
    text = text_of(path, label, problems)
    parts = cut(text) if lazy else None
    if parts is not None:
        texts = [(part, Later(functools.partial(_sound, part.text, label))) for part in parts[1]]
        return parsed(parts[0], label, problems), [
            (key, Later(functools.partial(_fields, key, part, data))) for part, data in texts for key in part.names
        ]
    data = parsed(text, label, problems)
    about: dict[str, Any] = {key: data.pop(key) for key in ("era", "module", "unless") if key in data}
    grouped: list[str] = []
    groups = list(rows_of_groups(data, grouped))
    problems.extend(f"{label}: {problem}" for problem in grouped)
    return about, [(key, Later(functools.partial(dict, fields))) for key, fields in (*data.items(), *groups)]


def _fields(key: str, part: Part, data: Later[dict[str, Any]]) -> dict[str, Any]:
    """The keys of one row of a part."""
    fields: dict[str, Any] = row_of_group(data.value(), key) if part.group else data.value()[key]
    return fields


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where a row stands: what its name begins with, the file, and the kind of the rows there."""

    prefix: str
    label: str
    kind: str


def prefix_of(module: str) -> str:
    """What the names of a table begin with, whose `module` this is."""
    return f"{module}." if module else ""


def _laters(part: Part, place: _Place) -> Iterator[tuple[str, Row | Later[Row]]]:
    """The rows of a part of a table, read when they are asked for: a test has checked the whole table."""
    data = Later(functools.partial(_sound, part.text, place.label))
    for key in part.names:
        yield place.prefix + key, Later(functools.partial(_later, place, key, part, data))


def _sound(text: str, label: str) -> dict[str, Any]:
    """What the text of a part holds."""
    problems: list[str] = []
    data = parsed(text, label, problems)
    if problems:
        raise RulesError("\n".join(problems))
    return data


def _later(place: _Place, key: str, part: Part, data: Later[dict[str, Any]]) -> Row:
    """One row of a part."""
    problems: list[str] = []
    row = row_of(place.prefix + key, place.label, _fields(key, part, data), problems, place.kind)
    if problems:
        raise RulesError("\n".join(problems))
    return row


def libraries_of(data: Any, label: str, problems: list[str]) -> dict[str, Library]:
    """The libraries that a table describes."""
    found: dict[str, Library] = {}
    known = {field.name for field in dataclasses.fields(Library)} - {"module"}
    for module, fields in data.items():
        where = f"{label} [libraries.{module}]"
        errors = list(unknown_keys(fields, frozenset(known)))
        errors += [f"the key `{key}` is missing" for key in sorted(known - {"note"} - set(fields))]
        problems.extend(f"{where}: {error}" for error in errors)
        if not errors:
            found[module] = Library(module, **fields)
    return found


def text_of(path: Path, label: str, problems: list[str]) -> str:
    """The text of a file; none, with the problem noted, where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problems.append(f"{label}: not valid TOML: {error}")
        return ""


def parsed(text: str, label: str, problems: list[str]) -> dict[str, Any]:
    """What a table holds; nothing, with the problem noted, where it is no TOML."""
    try:
        data: dict[str, Any] = tomllib.loads(text)
        return data
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{label}: not valid TOML: {error}")
        return {}


def _rows(data: dict[str, Any], label: str, problems: list[str], kind: str) -> Iterator[Row]:
    module = data.pop("module", None)
    if module is None:
        if data:
            problems.append(f'{label}: the line `module = "chainer..."` is missing')
        return
    grouped: list[str] = []
    groups = list(rows_of_groups(data, grouped))
    problems.extend(f"{label}: {problem}" for problem in grouped)
    for key, fields in (*data.items(), *groups):
        where = f"{label} [{key}]"
        if not isinstance(fields, dict):
            problems.append(f"{where}: a row is a table, not {fields!r}")
            continue
        errors = list(unknown_keys(fields, ROW_KEYS))
        row = row_of(prefix_of(module) + key, label, fields, errors, kind)
        errors.extend(check(row))
        if errors:
            problems.extend(f"{where}: {error}" for error in errors)
        else:
            yield row
