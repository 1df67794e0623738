"""The record of emitted texts: what every example of every row becomes, a text file for each table and style.

An executed example proves that its text is right. The record proves that no text has changed unseen: a wrong guard or
template that computes the same in every example is still another text, and a reader sees it as a difference.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.verify.rules import snippets
from chainer2torch.verify.rules.callmatrix import AS_WRITTEN, Variant

Texts = dict[str, str]  # of one row: by the number of the example, and whether the kinds of its inputs are known
STYLES = ("faithful", "native")
BLIND = ", kinds unknown"
LEFT = "(left for a person)"
_HEAD = "# What the examples of {table} become, {style} style. Written by `python -m tests.support.emitted`.\n"
_LABEL = re.compile(rf"example (\d+), {AS_WRITTEN}({BLIND})?(,|$)")
_ROW, _EXAMPLE = "== ", "-- "  # no line of Python begins so


def label_of(pair: str) -> str | None:
    """What the record calls the pair of this label; None: it holds no such text."""
    found = _LABEL.match(pair)
    return found and found[1] + (found[2] or "")


def text_of(code: str) -> str:
    """What of a migrated module is recorded: all but the imports and the head of ``run``."""
    top = [
        ast.get_source_segment(code, node) or ""
        for node in ast.parse(code).body
        if not isinstance(node, (ast.Import, ast.ImportFrom))
        and not (isinstance(node, ast.FunctionDef) and node.name == "run")
    ]
    text = "\n".join([*top, snippets.emitted(code)])
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def of_row(row: Any, rules: Any, migrate_source: Callable[..., Any]) -> Texts:
    """What the examples of a row become; with inputs of unknown kinds where that is another text."""
    found: Texts = {}
    for number, example in enumerate(row.examples, 1):
        source = snippets.build(Variant(AS_WRITTEN, example.options.get("setup", ""), example.before), example.given)
        known = snippets.hints(example.given, example.options)
        for label, kinds in ((f"{number}", known), (f"{number}{BLIND}", {})):
            migrated = snippets.migrate(source, migrate_source, rules, kinds)
            text = LEFT if migrated.left is not None else text_of(migrated.code)
            if text != found.get(f"{number}"):
                found[label] = text
    return found


@dataclasses.dataclass(frozen=True)
class Record:
    """The recorded texts of one style, by row."""

    rows: Mapping[str, Texts]

    @classmethod
    def read(cls, folder: Path, style: str) -> Record:
        """The record in a folder. That of the native style has only what differs from the faithful one."""
        rows: dict[str, Texts] = {}
        for part in STYLES[: STYLES.index(style) + 1]:
            for path in sorted((folder / part).rglob("*.txt")):
                rows.update(_parsed(path.read_text(encoding="utf-8")))
        return cls(rows)

    def notices(self, row: str, pair: str, code: str) -> bool:
        """Whether a migrated module is not what the record has for this pair of a row."""
        label = label_of(pair)
        texts = self.rows.get(row, {})
        if label is None or label.removesuffix(BLIND) not in texts:
            return False
        return texts.get(label, texts[label.removesuffix(BLIND)]) != text_of(code)

    def problems(self, row: str, found: Texts) -> Iterator[str]:
        """A line for each text of a row that is another than the recorded one."""
        recorded = self.rows.get(row, {})
        for label in sorted({*recorded, *found}):
            before, now = recorded.get(label, "(nothing)"), found.get(label, "(nothing)")
            if before != now:
                yield f"{row}, example {label}: the record has\n{before}\nand it becomes\n{now}"


def write(folder: Path, texts: Mapping[str, Mapping[str, Texts]], tables: Mapping[str, str]) -> None:
    """Writes the record of both styles anew. ``texts``: of each style, by row; ``tables``: the table of each row."""
    for style in STYLES:
        for path in sorted((folder / style).rglob("*.txt")):
            path.unlink()
        files: dict[str, list[str]] = {}
        for row, found in texts[style].items():
            if found and (style == STYLES[0] or found != texts[STYLES[0]].get(row)):
                files.setdefault(tables[row], []).append(_written(row, found))
        for table, blocks in files.items():
            path = (folder / style / table).with_suffix(".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_HEAD.format(table=table, style=style) + "".join(sorted(blocks)), encoding="utf-8")


def _written(row: str, texts: Texts) -> str:
    return f"\n{_ROW}{row}\n" + "".join(f"{_EXAMPLE}{label}\n{text}\n" for label, text in texts.items())


def _parsed(text: str) -> dict[str, Texts]:
    found: dict[str, Texts] = {}
    lines: list[str] = []
    row: Texts = {}
    label = ""
    for line in [*text.splitlines(), _ROW]:
        if line.startswith((_ROW, _EXAMPLE)):
            if label:
                row[label] = "\n".join(lines).strip("\n")
            label, lines = line.removeprefix(_EXAMPLE), []
            if line.startswith(_ROW):
                label = ""
                row = found.setdefault(line.removeprefix(_ROW).strip(), {})
        else:
            lines.append(line)
    found.pop("", None)
    return found
