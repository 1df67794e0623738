"""How a pass writes its decisions down: helpers that make them with what the context knows of the place."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from chainer2torch.analysis.scopes import Scope
from chainer2torch.plan.bound_names import with_names_of_its_own
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Claim, Decision, Edit, Group, Item, Provided
from chainer2torch.plan.edits import Operand, Replace, Wrap
from chainer2torch.plan.site import Site
from chainer2torch.plan.stages import spelled
from chainer2torch.rules.table import Row

_OF_LIBRARIES, _DROPPED = "C2T091", "C2T092"  # libraries on Chainer; what the libraries of today have dropped
NO_RULE = "no rule for this name"
AS_VALUE = "passed as a value; no torch object means the same for every call"


class Decisions:
    """The decisions of one pass, in the order in which they were made.

    Nobody but the ledger reads them. The collector remembers what this pass itself has said of a node, no more.
    """

    def __init__(self, context: Context):
        self.context = context
        self.items: list[Item] = []
        self._into = self.items
        self._states: dict[ast.AST, str] = {}  # the first state that this pass has given a node
        self._wraps: set[ast.AST] = set()

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    # -- what is done ----------------------------------------------------------------------------------------------

    def replace(self, node: ast.expr, template: str, operands: Mapping[str, Operand]) -> None:
        """Replaces an expression by a template."""
        context = self.context
        self.edit(
            node,
            Replace(
                context.source.span(node),
                template,
                operands,
                training=context.training(node),
                parenthesize=context.needs_parentheses(node),
            ),
        )

    def edit(self, node: ast.AST, edit: Edit, replaces: tuple[Claim, ...] = ()) -> None:
        """Puts an edit at the place of a node."""
        if isinstance(edit, Replace):
            edit = with_names_of_its_own(self.context.source.text, spelled(self.context.stages, edit))
        self._into.append(Decision(node, edit=edit, replaces=replaces))

    def wrap(self, node: ast.expr, template: str, operands: Mapping[str, Operand] | None = None) -> bool:
        """Puts an expression into a template, as its name ``value``. False: this pass has wrapped it already."""
        if node in self._wraps:
            return False
        self._wraps.add(node)
        wrap = Wrap(self.context.source.span(node), template, operands if operands is not None else {})
        self._into.append(Decision(node, wrap=wrap))
        return True

    def remove(self, *nodes: ast.AST) -> None:
        """Says that subtrees disappear with an edit."""
        self._into += [Decision(node, removes=(node,)) for node in nodes]

    def use(self, node: ast.AST) -> None:
        """The edit replaces this reference: its root name no longer keeps the import alive."""
        root = node
        while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
            root = root.func if isinstance(root, ast.Call) else root.value
        self._into.append(Decision(node, uses=(root,)))

    def need(self, node: ast.AST, names: frozenset[tuple[Scope, str]]) -> None:
        """Says that names must go on being imported."""
        self._into.append(Decision(node, needs=names))

    # -- what is said ----------------------------------------------------------------------------------------------

    def mark(
        self,
        node: ast.AST,
        row: Row | None,
        symbol: str,
        state: str,
        message: str = "",
        code: str = "",
        replaces: tuple[Claim, ...] = (),
        difference: str = "",
        quiet: bool = False,
        shared: str = "",
    ) -> None:
        """Gives a reference its state; the first decision stands. ``replaces``: what it takes the place of.

        ``quiet``: it asks a person nothing, so only the report says it. ``shared``: what it asks of the whole project.

        With a declared ``difference`` what the row calls exact is close: equal but for that difference. Nothing is
        exact without a rule that says so, and whose examples run.
        """
        self._states.setdefault(node, state)
        code = code or (row.code if row else "C2T090")
        if state == "exact" and row is None:
            row = self.context.rules.of_symbol(symbol, code)
            assert row is not None, f"{symbol} is exact, and no rule says so"
        rule, advice = (row.name, row.next) if row is not None else ("", "")
        quiet = quiet or row is not None and row.quiet and state in ("review", row.state)
        site = Site.at(node, symbol, state, code, message)
        difference = difference or (row.difference if row is not None else "")
        if difference:
            state = "close" if state == "exact" else state
            site = dataclasses.replace(site, state=state, difference=difference)
        once = row.next if row is not None and row.once else ""
        if (
            not once
            and state == "manual"
            and message == (row.note if row is not None and row.state == "manual" else NO_RULE)
        ):
            # nothing of this place: one answer serves the whole file
            once = f"{code} {symbol}" if message == NO_RULE or self.context.choices.style != "native" else ""
        once = once or shared
        shared = shared or self._shared(row, site)
        self._into.append(
            Decision(
                node, site=site, advice=advice, rule=rule, replaces=replaces, quiet=quiet, once=once, shared=shared
            )
        )

    def _shared(self, row: Row | None, site: Site) -> str:
        """What a site asks of the whole project, and not of its place.

        Which version of Chainer it was, and what takes the place of a name that has no counterpart: it is left, or
        raises, wherever it is used. What a member of an array becomes is decided at each place.
        """
        if row is not None and row.once:
            return row.next
        if site.state != "manual" or site.symbol not in self.context.analysis.libraries and site.code != _DROPPED:
            return ""
        if site.message == NO_RULE:
            return f"{site.code} {site.symbol}"
        advice = row.next if row is not None else ""
        of_row = row is not None and row.state == "manual" and site.message == row.note
        whatever = of_row or site.message == AS_VALUE or site.code == _OF_LIBRARIES
        return f"{site.code} {site.message} {advice}" if whatever else ""

    def refine(
        self,
        node: ast.AST,
        row: Row | None,
        state: str,
        message: str,
        code: str = "",
        *,
        of: str = "",
        quiet: bool = False,
    ) -> None:
        """Says more of a reference that another pass has decided, unless that one left it for a person.

        ``of`` is the symbol that it must have been given; ``""``: any. Its symbol stays, and its code without another.
        ``quiet``: only the report says it.
        """
        rule, advice = (row.name, row.next) if row is not None else ("", "")
        site = Site.at(node, of, state, code or (row.code if row else ""), message)
        quiet = quiet or row is not None and row.quiet and state in ("review", row.state)
        self._into.append(Decision(node, site=site, advice=advice, rule=rule, refines=True, of=of, quiet=quiet))

    def keep(self, node: ast.AST, symbol: str, code: str, message: str) -> None:
        """Leaves a reference to another stage."""
        self._into.append(Decision(node, kept=Site.at(node, symbol, "kept", code, message)))

    def state(self, node: ast.AST) -> str | None:
        """The state that this pass has given a reference."""
        return self._states.get(node)

    # -- together, or on conditions --------------------------------------------------------------------------------

    def provided(
        self,
        *,
        free: tuple[Claim, ...] = (),
        taken: tuple[Claim, ...] = (),
        near: tuple[ast.AST, tuple[str, ...]] | None = None,
    ) -> AbstractContextManager[None]:
        """What is decided inside is carried out if these places are free, or taken, when the ledger comes to it."""
        return _OnCondition(self, free, taken, near)

    @contextlib.contextmanager
    def group(self, reason: str) -> Iterator[None]:
        """What is decided inside stands or falls together."""
        outer, self._into = self._into, []
        try:
            yield
        finally:
            inside, self._into = self._into, outer
        members = tuple(item for item in inside if isinstance(item, Decision))
        if len(members) < len(inside):
            raise ValueError("a group holds plain decisions only")
        if members:
            self._into.append(Group(members, reason))


__all__ = ["AS_VALUE", "NO_RULE", "Decisions"]


class _OnCondition:
    """The statement ``with decisions.provided(...)``; a pass runs it for every expression of a file."""

    __slots__ = ("decisions", "free", "near", "outer", "taken")

    def __init__(
        self,
        decisions: Decisions,
        free: tuple[Claim, ...],
        taken: tuple[Claim, ...],
        near: tuple[ast.AST, tuple[str, ...]] | None,
    ) -> None:
        self.decisions, self.free, self.taken, self.near = decisions, free, taken, near

    def __enter__(self) -> None:
        self.outer, self.decisions._into = self.decisions._into, []

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        inside, self.decisions._into = self.decisions._into, self.outer
        if inside and kind is None:
            self.decisions._into.append(Provided(tuple(inside), self.free, self.taken, self.near))
