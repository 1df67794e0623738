"""Which templates of a row its examples emit: a template that no example emits is a claim without a proof.

The engine is not asked what it chose. A copy of the row has a marker around each of its templates, and a marker that
shows up in the migrated example says that this template was emitted.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chainer2torch.rules.row import Row

Migrate = Callable[[Any], str]  # from a table of rules to the migrated text of one example

_MARKER = "emitted_branch_"
_MARKED = re.compile(rf"\b{_MARKER}(\d+)\b")


@dataclasses.dataclass(frozen=True)
class Branch:
    """One template of a row; ``label`` names it in reports, ``key`` is the key of the row that holds it."""

    label: str
    key: str
    index: int
    template: str
    native: bool = False


def branches(row: Row) -> list[Branch]:
    """The templates of a row, in the order of the table."""
    found = [
        Branch(f"case `{case.when}`" if case.when is not None else "`torch`", "cases", index, case.torch, case.native)
        for index, case in enumerate(row.cases)
    ]
    others = (("fallback", row.fallback), ("value", row.value), ("set", row.set))
    return found + [Branch(f"`{key}`", key, 0, text, key in row.native) for key, text in others if text is not None]


def with_template(row: Row, branch: Branch, template: str) -> Row:
    """The row with another template in one place."""
    if branch.key != "cases":
        changed: dict[str, Any] = {branch.key: template}
        return dataclasses.replace(row, **changed)
    cases = list(row.cases)
    cases[branch.index] = dataclasses.replace(cases[branch.index], torch=template)
    return dataclasses.replace(row, cases=tuple(cases))


def never_emitted(row: Row, rules: Any, migrations: Iterable[Migrate]) -> list[Branch]:
    """The branches of a row that none of the migrations emits. Each is tried until no branch is left.

    In the native style those of its own tables: the cases of the faithful style are proved there, and may be out of
    reach here.
    """
    every = branches(row)
    missing = {number: branch for number, branch in enumerate(every) if branch.native or rules.style != "native"}
    if not missing:
        return []
    marked_row = row
    for number, branch in enumerate(every):
        marked_row = with_template(marked_row, branch, _marked(branch.template.strip(), f"compat.{_MARKER}{number}"))
    marked_rules = rules.replacing(marked_row)
    for migrate in migrations:
        for number in _seen(migrate(marked_rules)):
            missing.pop(number, None)
        if not missing:
            return []
    return list(missing.values())


def _marked(template: str, marker: str) -> str:
    """The template with a marker around the whole, so that what the plan reads of it, the names in it, stays.

    Of an assignment (``torch.backends.cudnn.benchmark = value``) it stands around the value.
    """
    target, equals, value = template.partition(" = ")
    if equals and target.replace(".", "").isidentifier():
        return f"{target} = {marker}({value})"
    return f"{marker}({template})"


def _seen(text: str) -> Iterator[int]:
    return (int(found[1]) for found in _MARKED.finditer(text))
