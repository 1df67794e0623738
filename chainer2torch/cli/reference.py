"""What ``rules`` and ``explain`` print: the rules and the codes, for people."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chainer2torch.rules import codes

# how Python calls the methods that operators are
_OPERATORS = {
    "+=": "__iadd__",
    "-=": "__isub__",
    "*=": "__imul__",
    "/=": "__itruediv__",
    "//=": "__ifloordiv__",
    "**=": "__ipow__",
    "@=": "__imatmul__",
    "%=": "__imod__",
    "[]": "__getitem__",
}
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
    rows = [row for _, row in sorted(table.every.items())]
    if name is not None:
        rows = _meant(name, rows, table)
    if len(rows) == 1:
        return _rule(rows[0], table) + "\n"
    return "".join(f"{row.state:<7} {row.name}" + (f" (see {row.alias})" if row.alias else "") + "\n" for row in rows)


def _meant(name: str, rows: Sequence[Any], table: Any) -> list[Any]:
    """The rows with this name; else those whose last part it is and those below it; else those that have it in them.

    What begins in Python is found by its symbol in a report (`?.std`, `numpy.abs`) and as `operator +=`.
    """
    sign = name.removeprefix("operator").strip()
    name = _OPERATORS.get(sign, name)
    prefix, dot, rest = name.partition(".")
    full = table.canonical(USUAL_NAMES.get(prefix, prefix) + dot + rest)
    found = [row for row in rows if row.name in (name, full)] or [row for row in rows if row.name.endswith("." + name)]
    if len(found) != 1:
        found = [row for row in rows if row in found or f".{name}." in "." + row.name]
    if not found and (row := table.of_symbol(name)) is not None:
        found = [row]
    found = found or [row for row in rows if name.lower() in row.name.lower()]
    if not found:
        raise LookupError(f"no rule for {name}{_near(name, table)}")
    return found


def _near(name: str, table: Any) -> str:
    """The names that may have been meant, best first: by the whole name and by its last part."""
    last = name.rsplit(".", 1)[-1]
    by_last: dict[str, list[str]] = {}
    for full in table.every:
        by_last.setdefault(full.rsplit(".", 1)[-1], []).append(full)
    near = difflib.get_close_matches(name, list(table.every), 3, cutoff=0.75)
    near += [by_last[word][0] for word in difflib.get_close_matches(last, by_last, 3, cutoff=0.7)]
    near = near or [by_last[word][0] for word in difflib.get_close_matches(last, by_last, 3, cutoff=0.4)]
    near = list(dict.fromkeys(near))[:3]
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return "; `chainer2torch rules` lists all names, and of a name of your own the code says more (explain CODE)"


def _rule(row: Any, table: Any) -> str:
    if row.alias:
        return f"{row.name}\n  another name of {row.alias}"
    bound = f" (bound {row.bound})" if row.bound else ""
    kind = f"  kind: {row.kind}" if row.kind else ""
    lines = [f"{row.name}{row.signature.text if row.signature else ''}", f"  state: {row.state}{bound}{kind}"]
    if row.name in table.old:
        lines.append(f"  in Chainer 1: {table.old[row.name].signature.text}")
    lines += [f"  when {case.when}: {case.torch}" if case.when else f"  {case.torch}" for case in row.cases]
    if row.fallback:
        lines.append(f"  when that cannot be decided: {row.fallback}")
    if row.value:
        lines.append(f"  passed as a value: {row.value}")
    lines += [f"  {label}: {text}" for label, text in (("note", row.note), ("next", row.next)) if text]
    lines.append(f"  code: {row.code} (chainer2torch explain {row.code})")
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
