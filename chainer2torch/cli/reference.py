"""What ``rules`` and ``explain`` print: the rules and the codes, for people."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chainer2torch.rules import codes

# what these modules are usually imported as
USUAL_NAMES = {"F": "chainer.functions", "L": "chainer.links", "O": "chainer.optimizers"}


def explained(code: str) -> str:
    """What a code means and what to do. LookupError, with what may have been meant, when there is no such code."""
    text = codes.explain(code)
    if text is None:
        near = codes.nearest(code)
        hint = f"; did you mean {near}?" if near else f"; codes look like C2T203. A name of Chainer's: rules {code}"
        raise LookupError(f"no code {code}{hint}")
    return text


def rules_text(name: str | None, rule_dirs: tuple[Path, ...]) -> str:
    """All rules (a line for each), or those that a name means: one with its note and examples.

    LookupError, with what may have been meant, when there is none.
    """
    from chainer2torch.rules.table import load_rules

    table = load_rules(rule_dirs)
    table = table.with_packs(frozenset(table.packs))
    rows = [row for _, row in sorted(table.rows.items())]
    if name is not None:
        rows = _meant(name, rows, table)
    if len(rows) == 1:
        return _rule(rows[0], table) + "\n"
    return "".join(f"{row.state:<7} {row.name}" + (f" (see {row.alias})" if row.alias else "") + "\n" for row in rows)


def _meant(name: str, rows: Sequence[Any], table: Any) -> list[Any]:
    """The rows with this name; else those whose last part it is and those below it; else those that have it in them."""
    prefix, dot, rest = name.partition(".")
    full = table.canonical(USUAL_NAMES.get(prefix, prefix) + dot + rest)
    found = [row for row in rows if row.name in (name, full)] or [row for row in rows if row.name.endswith("." + name)]
    if len(found) != 1:
        found = [row for row in rows if row in found or f".{name}." in "." + row.name]
    found = found or [row for row in rows if name.lower() in row.name.lower()]
    if not found:
        names = {part for row in table.rows for part in (row, row.rsplit(".", 1)[-1])}
        near = difflib.get_close_matches(name, names, 3)
        raise LookupError(f"no rule for {name}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    return found


def _rule(row: Any, table: Any) -> str:
    if row.alias:
        return f"{row.name}\n  another name of {row.alias}"
    bound = f" (bound {row.bound})" if row.bound else ""
    lines = [f"{row.name}{row.signature.text if row.signature else ''}", f"  state: {row.state}{bound}"]
    if row.name in table.old:
        lines.append(f"  in Chainer 1: {table.old[row.name].signature.text}")
    lines += [f"  when {case.when}: {case.torch}" if case.when else f"  {case.torch}" for case in row.cases]
    if row.fallback:
        lines.append(f"  when that cannot be decided: {row.fallback}")
    if row.value:
        lines.append(f"  passed as a value: {row.value}")
    lines += [f"  {label}: {text}" for label, text in (("note", row.note), ("next", row.next)) if text]
    for example in row.examples:
        before, after = (
            text.strip().replace("\n", "\n      ")
            for text in (f"{example.options.get('setup', '')}\n{example.before}", _after(example, table))
        )
        lines.append(f"  example: {before}" + (f"\n  becomes: {after}" if after else ""))
    return "\n".join(lines)


def _after(example: Any, table: Any) -> str:
    """What an example is migrated to: as the row states it, else as it comes out."""
    if example.after:
        return str(example.after)
    try:
        from chainer2torch.verify.rules import snippets
    except ImportError:  # it needs NumPy, which the core does not
        return ""
    from chainer2torch.engine import migrate_source

    return snippets.after(example, migrate_source, table)
