"""Decisions: plain data that the passes hand to the ledger.

A decision says one thing about one node: an edit, a wrap, what the report says of it, which reference is used up.
Two kinds of containers put decisions together. A ``Group`` is carried out whole or not at all. A ``Provided`` is
carried out if certain places are free, or taken, when the ledger comes to it.
"""

from __future__ import annotations

import ast
import enum
from typing import TypeAlias

from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.scopes import Scope
from chainer2torch.plan.edits import AddKeyword, Replace, StatementEdit, Wrap
from chainer2torch.plan.site import Site

Edit: TypeAlias = Replace | AddKeyword | StatementEdit


class Part(enum.Enum):
    """The parts of a node that are claimed separately: each has one owner at most."""

    EDIT = "edit"  # what stands at the place of the node
    WRAP = "wrap"  # what is put around it
    SITE = "site"  # what the report says of it
    KEPT = "kept"  # that another stage migrates it
    ROOT = "root"  # for conditions: the name that some decided reference begins with

    # members are compared by identity; Enum's own __hash__ is slow, and the ledger asks often
    __hash__ = object.__hash__


Claim: TypeAlias = tuple[Part, ast.AST]


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """One decision about one node.

    ``replaces`` are claims that this decision takes the place of. With ``refines`` the site takes the place of the
    node's present one, and nothing happens where the node has none, or one that is ``manual`` already. A symbol in
    ``of`` asks for a present site of that symbol.
    """

    node: ast.AST
    edit: Edit | None = None
    wrap: Wrap | None = None
    site: Site | None = None
    kept: Site | None = None
    advice: str = ""  # what the row says that a person does next: for the marker
    rule: str = ""  # the name of the row that decided
    uses: tuple[ast.AST, ...] = ()  # references that the edits replace: they keep no import alive
    removes: tuple[ast.AST, ...] = ()  # subtrees that disappear
    needs: frozenset[tuple[Scope, str]] = frozenset()  # names that must go on being imported
    replaces: tuple[Claim, ...] = ()
    refines: bool = False
    of: str = ""
    quiet: bool = False  # the report says it; no marker in the file
    once: str = ""  # the first place of a file that asks this has a marker
    shared: str = ""  # what it asks, where one answer settles it for the whole project

    def claims(self) -> tuple[Claim, ...]:
        """The parts of the node that this decision takes."""
        found = (
            (Part.EDIT, self.edit),
            (Part.WRAP, self.wrap),
            (Part.SITE, self.site),
            (Part.KEPT, self.kept),
        )
        return tuple((part, self.node) for part, value in found if value is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Decisions that stand or fall together: statements that move, a loop that becomes two.

    If one member loses its claim, or the rewriter cannot place one of its edits, none of them is carried out.
    """

    members: tuple[Decision, ...]
    reason: str  # what they do together, for the report


@dataclass(frozen=True, slots=True, eq=False)
class Provided:
    """Decisions that are carried out if certain places are free, or taken, when the ledger comes to them.

    All claims in ``free`` have to be free and, where ``taken`` names any, at least one of these has to be taken.
    ``near`` asks for a site inside a node whose symbol begins with one of some words.
    """

    members: tuple[Item, ...]
    free: tuple[Claim, ...] = ()
    taken: tuple[Claim, ...] = ()
    near: tuple[ast.AST, tuple[str, ...]] | None = None


Item: TypeAlias = Decision | Group | Provided
