"""What becomes of the imports of a file, once its decisions stand: the last edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from chainer2torch.analysis.source import Nodes
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Above, Remove, RemoveImport, Replace, ReplaceStatement, StatementEdit
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.outcome.left_imports import (
    device_guards,
    empty_guards,
    left_imports,
    names_at_import,
    wider_guards,
)
from chainer2torch.plan.outcome.local_imports import moved_imports
from chainer2torch.plan.outcome.unused_imports import (
    Removals,
    idle_imports,
    is_of_python,
    unused_aliases,
    unused_imports,
)


@dataclasses.dataclass(frozen=True)
class Imports:
    """Which imports go, and the names that they bind."""

    ledger: Ledger
    others: frozenset[str]  # the names that other files go on importing from this one
    removals: Removals
    names: frozenset[str]
    empty: tuple[StatementEdit, ...]  # the guards around imports that all go, and second names of what goes
    needed: frozenset[str]  # the names that must be bound when the module is imported, or that others take
    moved: tuple[Above, ...]  # the imports that stand where they are used

    @classmethod
    def of(cls, ledger: Ledger, others: frozenset[str]) -> Imports:
        """The imports that no name needs any more."""
        aliases = unused_aliases(ledger.context, ledger, others)
        removals, names = unused_imports(ledger.context, ledger, others, aliases.values())
        needed = others | names_at_import(ledger.context, ledger)
        moved, above = moved_imports(ledger.context, ledger, removals, needed)
        removals = {s: removals.get(s, frozenset()) | moved.get(s, frozenset()) for s in (*removals, *moved)}
        starts = [ledger.context.source.start(statement) for statement in aliases.values()]
        empty = (*empty_guards(ledger.context, removals), *map(Remove, starts))
        return cls(ledger, others, removals, names | aliases.keys(), empty, needed, above)

    @property
    def context(self) -> Context:
        """The file."""
        return self.ledger.context

    def without_idle(self, output: Nodes) -> Imports | None:
        """The same with array libraries whose last use an edit has taken; None where there is none."""
        idle, names = idle_imports(self.context, output, self.others)
        if not names:
            return None
        removals = dict(self.removals)
        for statement, aliases in idle.items():
            if statement in self.ledger.edits:  # something else takes its place
                continue
            removals[statement] = removals.get(statement, frozenset()) | aliases
        return dataclasses.replace(self, removals=removals, names=self.names | names)

    def edits(self) -> Iterator[StatementEdit | Replace]:
        """The edits of import statements."""
        guards = tuple(device_guards(self.context, self.removals))
        raising = {edit.start for edit in guards if isinstance(edit, ReplaceStatement)}
        for statement, aliases in self.removals.items():
            if (start := self.context.source.start(statement)) not in raising:
                yield RemoveImport(start, aliases, not is_of_python(statement))
        yield from self.empty
        yield from self.moved
        yield from left_imports(self.ledger, self.removals, self.needed)
        yield from wider_guards(self.context, self.removals)
        yield from guards
