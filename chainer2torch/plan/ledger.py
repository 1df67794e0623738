"""The ledger: takes the decisions of the passes in their order, and knows which pass has claimed which place.

Each part of a node (its edit, its wrap, its site) belongs to one pass at most. Who gives way is declared by the passes
(``Policy``). Of two sites of a node the first stands: a reference is told once. Two edits, or two wraps, of which
neither pass says that it gives way are a conflict: an error in the tests; for users the first stands, and the place is
marked for review.
"""

from __future__ import annotations

import ast
import bisect
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, ClassVar

from chainer2torch.analysis.scopes import Scope
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Claim, Decision, Edit, Group, Item, Part, Provided
from chainer2torch.plan.edits import Comment, Remove, StatementEdit, Unmark, Wrap
from chainer2torch.plan.site import Site

_OF_NAMES = frozenset({"C2T010", "C2T090"})  # what they say is about one name: no rule for it, a call that does not fit
_PLANNED = (Part.EDIT, Part.WRAP)
_TWICE = "two rules would change this place, and only the first was carried out"
_UNPLACED = "the rewriter could not place the change here"
_NOT_WHOLE = "could not be carried out as a whole: {reason}"
_CODE = "C2T011"


class Conflict(Exception):
    """Two passes decide on one place, and neither says which of them gives way."""


@dataclass(frozen=True)
class Policy:
    """How the edits and wraps of one pass stand to those of the passes before it, which are named."""

    name: str
    yields_to: frozenset[tuple[Part, str]] = frozenset()  # what stands when both decide on a place
    overrides: frozenset[tuple[Part, str]] = frozenset()  # what gives way then


class Ledger:
    """The decisions for one file that stand."""

    strict: ClassVar[bool] = False  # whether an undeclared conflict is an error; the tests switch it on

    def __init__(self, context: Context):
        self.context = context
        self.edits: dict[ast.AST, Edit] = {}
        self.wraps: dict[ast.AST, Wrap] = {}
        self.sites: dict[ast.AST, Site] = {}
        self.kept: dict[ast.AST, Site] = {}  # references that another stage migrates
        self.comments: dict[ast.AST, Comment] = {}  # the markers above sites for a person
        self._asked: dict[str, list[str]] = {}  # the markers, with what their places ask of the project
        self._shared: dict[ast.AST, str] = {}  # the sites that ask something of the whole project
        self._questions: dict[ast.AST, str] = {}  # the sites whose marker stands once a file for all that ask the same
        self.consumed: set[ast.AST] = set()  # root names of references that the edits replace
        self.needed: set[tuple[Scope, str]] = set()  # names that texts use which run as code
        self.removed: set[ast.AST] = set()  # subtrees that disappear with an edit
        self.told: set[ast.AST] = set()  # the root names of references that have a site, are kept or used up
        self._parts: dict[Part, dict[ast.AST, Any]] = {
            Part.EDIT: self.edits,
            Part.WRAP: self.wraps,
            Part.SITE: self.sites,
            Part.KEPT: self.kept,
        }
        self._owners: dict[Claim, str] = {}
        self._groups: dict[Claim, Group] = {}

    # -- taking ----------------------------------------------------------------------------------------------------

    def take(self, policy: Policy, decisions: Iterable[Item]) -> None:
        """Enters the decisions of a pass, one after the other."""
        for item in decisions:
            if isinstance(item, Decision):
                self._decision(policy, item)
            elif isinstance(item, Group):
                self._group(policy, item)
            elif self._holds(item):
                self.take(policy, item.members)

    def _holds(self, condition: Provided) -> bool:
        return (
            not any(self.is_claimed(claim) for claim in condition.free)
            and (not condition.taken or any(self.is_claimed(claim) for claim in condition.taken))
            and (condition.near is None or self._has_site_inside(*condition.near))
        )

    def is_claimed(self, claim: Claim) -> bool:
        """Whether a part of a node has an owner."""
        part, node = claim
        return node in (self.told if part is Part.ROOT else self._parts[part])

    def _has_site_inside(self, tree: ast.AST, symbols: tuple[str, ...]) -> bool:
        return any(node in self.sites and self.sites[node].symbol.startswith(symbols) for node in nodes_of(tree))

    def _group(self, policy: Policy, group: Group) -> None:
        """All of a group, if none of its members loses its place to another decision."""
        claims = [claim for member in group.members for claim in member.claims()]
        planned = [claim for claim in claims if claim[0] in _PLANNED]
        if len(set(planned)) < len(planned) or not all(self._wins(policy, claim) for claim in planned):
            self._not_carried_out(group)
            return
        for member in group.members:
            self._decision(policy, member)
        self._groups.update(dict.fromkeys(planned, group))

    def _decision(self, policy: Policy, decision: Decision) -> None:
        for claim in decision.replaces:
            self._withdraw(claim)
        node = decision.node
        for part, value in ((Part.EDIT, decision.edit), (Part.WRAP, decision.wrap)):
            if value == self._parts[part].get(node) and self._owners.get((part, node)) == policy.name:
                continue  # what a pass finds twice, by two ways, is one decision
            if value is not None and self._wins(policy, (part, node)):
                self._withdraw_group((part, node))
                self._parts[part][node] = value
                self._owners[part, node] = policy.name
        if decision.kept is not None:
            self.kept[node] = decision.kept
            self._tell(node)
        if decision.site is not None:
            self._site(decision, decision.site)
        if decision.uses:
            self.consumed.update(decision.uses)
            self.told.update(decision.uses)
        self.removed.update(decision.removes)
        self.needed |= decision.needs

    def _wins(self, policy: Policy, claim: Claim) -> bool:
        """Whether a pass gets a place: nobody has it, or who has it gives way."""
        part, node = claim
        if node not in self._parts[part]:
            return True
        owner = self._owners[claim]
        if (part, owner) in policy.overrides:
            return True
        if (part, owner) not in policy.yields_to:
            self._conflict(policy, claim, owner)
        return False

    def _conflict(self, policy: Policy, claim: Claim, owner: str) -> None:
        part, node = claim
        if self.strict:
            what = ast.unparse(node).partition("\n")[0][:80]
            raise Conflict(
                f"{self.context.module.path}:{getattr(node, 'lineno', 1)}: {policy.name} and {owner} both decide the "
                f"{part.value} of `{what}`; one of them has to say that it gives way (plan/pipeline.py)"
            )
        present = self.sites.get(node)
        if present is None or present.state in ("exact", "close"):
            self._put(node, self._site_of(node, present, "review", _TWICE))

    # -- sites -----------------------------------------------------------------------------------------------------

    def _site(self, decision: Decision, site: Site) -> None:
        present = self.sites.get(decision.node)
        if not decision.refines:
            if present is None:
                self._put(decision.node, site, decision.advice, decision.quiet)
                if decision.shared:
                    self._shared[decision.node] = decision.shared
                if decision.once:
                    self._questions[decision.node] = decision.once
            return
        if present is None or present.state == "manual" or decision.of not in ("", present.symbol):
            return
        del self.sites[decision.node]
        state = "close" if present.difference and site.state == "exact" else site.state
        code, difference = site.code or present.code, present.difference
        self._put(
            decision.node,
            dataclasses.replace(site, symbol=present.symbol, code=code, state=state, difference=difference),
            decision.advice,
            decision.quiet,
        )

    def _put(self, node: ast.AST, site: Site, advice: str = "", quiet: bool = False) -> None:
        self.sites[node] = site
        self._tell(node)
        self.comments.pop(node, None)
        self._questions.pop(node, None)
        self._shared.pop(node, None)
        if site.state in ("manual", "review") and not quiet:
            self.comments[node] = self._marker(node, site, advice)

    def _tell(self, node: ast.AST) -> None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        self.told.add(root)

    def _marker(self, node: ast.AST, site: Site, advice: str) -> Comment:
        """The comment that a person finds above the statement of a node."""
        source, what = self.context.source, site.message or "look at this line"
        if advice and advice not in what:
            what = f"{what.rstrip('.')}; {advice}"
        text = f"# TODO(chainer2torch {site.code}): {site.symbol}: {' '.join(what.split())}"
        at = source.span(node)[0] if hasattr(node, "end_lineno") else None
        return Comment(source.start(source.line_statement(node)), text, at)

    @staticmethod
    def _site_of(node: ast.AST, present: Site | None, state: str, message: str) -> Site:
        symbol = present.symbol if present is not None else ast.unparse(node)[:60]
        return Site.at(node, symbol, state, _CODE, message)

    # -- taking back -----------------------------------------------------------------------------------------------

    def _withdraw(self, claim: Claim) -> None:
        """Takes back what was decided on a part of a node, and the rest of its group."""
        self._withdraw_group(claim)
        part, node = claim
        self._parts[part].pop(node, None)
        self._owners.pop(claim, None)
        if part is Part.SITE:
            self.comments.pop(node, None)

    def _withdraw_group(self, claim: Claim) -> None:
        group = self._groups.get(claim)
        if group is None:
            return
        for member in group.members:
            for part in _PLANNED:
                self._groups.pop((part, member.node), None)
                self._parts[part].pop(member.node, None)
                self._owners.pop((part, member.node), None)
            self.consumed.difference_update(member.uses)
            self.removed.difference_update(member.removes)
        self._not_carried_out(group)

    def _not_carried_out(self, group: Group) -> None:
        """What a group would have changed stays, and says so."""
        message = _NOT_WHOLE.format(reason=group.reason)
        for member in group.members:
            if member.site is not None:
                present = self.sites.get(member.node)
                if present is None or present.state != "manual":
                    self._put(member.node, self._site_of(member.node, member.site, "manual", message))

    def fail(self, failed: Collection[Any]) -> None:
        """Edits that the rewriter could not place: what they stand for stays as it was, and its sites say so."""
        nodes = [n for planned in (self.edits, self.wraps) for n, edit in planned.items() if edit in failed]
        for node in nodes:
            for part in _PLANNED:
                self._withdraw((part, node))
        for node in nodes:
            inside = list(self._own_parts(node))
            present = [(inner, self.sites[inner]) for inner in inside if inner in self.sites]
            self.consumed.difference_update(inside)
            for inner, site in present:
                del self.sites[inner]
                self._put(inner, self._site_of(inner, site, "manual", _UNPLACED))
            if not present:
                self._put(node, self._site_of(node, None, "manual", _UNPLACED))

    def _own_parts(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node and what is in it, without the parts that have edits of their own."""
        yield node
        for child in ast.iter_child_nodes(node):
            if child not in self.edits:
                yield from self._own_parts(child)

    def _line(self, offset: int) -> int:
        return bisect.bisect_right(self.context.source.line_starts, offset)

    def leave_out(self, message: str, code: str) -> None:
        """Takes back every decision about lines that the user keeps as they are."""
        skipped = self.context.skipped
        if not skipped:
            return
        for planned in (self.edits, self.wraps):
            part = Part.EDIT if planned is self.edits else Part.WRAP
            for node, edit in list(planned.items()):
                start = edit.start if isinstance(edit, StatementEdit) else edit.span[0]
                if node in planned and skipped.line(self._line(start)):
                    self._withdraw((part, node))
        for node, comment in list(self.comments.items()):
            if skipped.line(self._line(comment.start)):
                del self.comments[node]
        for node in [n for n in self.removed if skipped.inside(n)]:  # part of what would disappear has to stay: all
            self.removed.discard(node)
            edited = next((a for a in [node, *self.context.source.ancestors(node)] if a in self.edits), None)
            if edited is not None:
                self._withdraw((Part.EDIT, edited))
        # names that stay in use keep their imports
        self.consumed.difference_update([node for node in self.consumed if skipped.node(node)])
        for node, site in self.sites.items():
            if skipped.line(site.line):
                self.sites[node] = dataclasses.replace(site, state="manual", code=code, message=message)

    # -- the result ------------------------------------------------------------------------------------------------

    def live(self, others: Iterable[Edit] = ()) -> list[Edit | Wrap]:
        """The edits outside of what other edits remove; ``others`` are those of the imports."""
        source = self.context.source
        gone = [source.span(n) for n in self.removed if hasattr(n, "lineno")]

        def lives(edit: Edit | Wrap) -> bool:
            start, end = (edit.start, edit.start + 1) if isinstance(edit, StatementEdit) else edit.span
            itself = isinstance(edit, Remove)  # what removes a statement stands at its start
            return not any(a <= start and end <= b and not (itself and a == start) for a, b in gone)

        found = [*self.edits.values(), *self.wraps.values(), *self._markers(lives), *self._unmarked(), *others]
        return [edit for edit in found if lives(edit)]

    def _markers(self, lives: Callable[[Edit], bool]) -> Iterator[Comment]:
        """The comments; what one answer settles is asked at the first of its places that the file keeps."""
        asked: dict[str, str] = {}
        self._asked = {}
        for node, comment in sorted(self.comments.items(), key=lambda item: item[1].start):
            if not lives(comment):
                continue
            question = self._questions.get(node) or self._cause(node, comment) or comment.text
            if question not in asked or question == comment.text:
                yield comment
            self._asked.setdefault(asked.setdefault(question, comment.text), []).append(self._shared.get(node, ""))

    def asked(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The markers of the edits (``live``) that one answer settles for the whole project, and what they ask."""
        return tuple(
            (text, tuple(dict.fromkeys(questions))) for text, questions in self._asked.items() if "" not in questions
        )

    def _cause(self, node: ast.AST, comment: Comment) -> str | None:
        """What a comment of the native style asks: a file asks it once, of whichever names it is."""
        site = self.sites.get(node)
        if site is None or self.context.choices.style != "native":
            return None
        of_name = site.code in _OF_NAMES or "no rule for" in comment.text
        return f"{site.state} {comment.text if of_name else comment.text.replace(site.symbol, '', 1)}"

    def _unmarked(self) -> Iterator[Unmark]:
        """The markers of an earlier run over what can be converted by now go."""
        source = self.context.source
        if "# TODO(chainer2torch " in source.text:
            for node, site in self.sites.items():
                if site.state in ("exact", "close"):
                    yield Unmark(source.start(source.line_statement(node)), site.symbol)
