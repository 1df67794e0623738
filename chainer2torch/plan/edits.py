"""Edits: plain data that cross from the plan to the rewriter. Nodes are named by their offsets in the source."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from chainer2torch.analysis.values import dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class Operand:
    """What a name of a template stands for: a node of the source (by span) or a piece of literal code."""

    span: Span | None = None
    code: str | None = None


@dataclass(frozen=True)
class Replace:
    """Replaces an expression by a template; the call's own argument nodes keep their formatting."""

    span: Span
    template: str
    operands: Mapping[str, Operand]
    drop: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # values of CONST(...) and the like, by the text of the macro's argument
    constants: Mapping[str, str] = dataclasses.field(default_factory=dict)
    long: frozenset[str] = frozenset()  # parameters known to be int64: LONG leaves them alone
    training: str = "compat.is_training()"
    parenthesize: bool = False
    callee_only: bool = False  # the template is a name: the call keeps its arguments as they are
    extra: tuple[Operand, ...] = ()  # what `*args` of the template stands for
    extra_keywords: tuple[tuple[str, Operand], ...] = ()


@dataclass(frozen=True)
class Wrap:
    """Puts an expression into a template, as its name ``value``; its own edit is made first.

    ``operands`` are the other names of the template: expressions beside it, which stay where they are, too.
    """

    span: Span
    template: str
    operands: Mapping[str, Operand] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class AddKeyword:
    """Gives a call one more argument by keyword; ``value`` is code, or a call of a helper as in templates."""

    span: Span
    name: str
    value: str


@dataclass(frozen=True)
class StatementEdit:
    """An edit of the statement that starts at ``start``."""

    start: int


@dataclass(frozen=True)
class Comment(StatementEdit):
    """Puts a comment above the statement; of several that it becomes, above the one that has the code ``at``."""

    text: str
    at: int | None = None


@dataclass(frozen=True)
class Above(StatementEdit):
    """Puts a line of code above the statement, and above the comments that stand over it."""

    code: str


@dataclass(frozen=True)
class Unmark(StatementEdit):
    """Removes the marker of an earlier run over a statement that can be converted by now."""

    symbol: str


@dataclass(frozen=True)
class Remove(StatementEdit):
    """Removes the statement; its leading comments stay."""


@dataclass(frozen=True)
class ReplaceStatement(StatementEdit):
    """Replaces a simple statement by others, given as code in which names are operands."""

    template: str
    operands: Mapping[str, Operand]
    training: str = "compat.is_training()"


@dataclass(frozen=True)
class Unwrap(StatementEdit):
    """Replaces a compound statement by its body (``branch`` 'orelse': by its else part), with lines put behind it.

    With the ``branch`` 'whole' it stays as it is, with 'item' a ``with`` statement without its ``item``. ``operands``
    are the names in those lines, and in those put ``before`` it, as in ReplaceStatement. With ``at_last`` the lines
    behind it stand in a ``finally``, and what is left of it in its ``try``.
    """

    branch: str = "body"
    append: str = ""
    operands: Mapping[str, Operand] = dataclasses.field(default_factory=dict)
    before: str = ""
    item: int = 0
    at_last: bool = False


@dataclass(frozen=True)
class RemoveBase(StatementEdit):
    """Removes a base (by its index) from a class definition."""

    index: int


@dataclass(frozen=True)
class BaseLast(StatementEdit):
    """Moves a base (by its index) behind the other bases of a class definition."""

    index: int


@dataclass(frozen=True)
class IntoFor(StatementEdit):
    """Replaces a ``while`` loop by a ``for`` loop over ``inner``, in another one over ``outer`` if that is given.

    Both are heads without the colon. With ``last_behind`` the last statement of the body, an ``if`` that is true in
    the last round only, is taken apart: its body stands behind the inner loop. So does what follows an ``if`` that goes
    on (``continue``) in all rounds but the last one.
    """

    inner: str
    outer: str
    last_behind: bool
    operands: Mapping[str, Operand]


@dataclass(frozen=True)
class IntoIf(StatementEdit):
    """Replaces ``try: A except ImportError: B`` by ``if test: A else: B``."""

    test: str


@dataclass(frozen=True)
class Rename(StatementEdit):
    """Renames a function definition."""

    name: str


@dataclass(frozen=True)
class AddParameter(StatementEdit):
    """Gives a function definition one more parameter; ``default`` is code, "" for none."""

    name: str
    default: str


@dataclass(frozen=True)
class AddDecorator(StatementEdit):
    """Puts a decorator, given as code, under those of a function definition."""

    code: str


@dataclass(frozen=True)
class RemoveImport(StatementEdit):
    """Removes aliases (by their index) from an import statement.

    ``is_place``: new imports may come where it stood; not where one of Python's modules was.
    """

    aliases: frozenset[int]
    is_place: bool = True


@dataclass(frozen=True)
class GuardImport(StatementEdit):
    """Puts an import statement into a ``try`` that lets it fail.

    ``stand_ins`` are the names that something is needed for even then, each with the dotted name that it stands for.
    """

    stand_ins: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ReplaceImport(StatementEdit):
    """Removes aliases (by their index) from an import statement; what binds their names stands behind it."""

    aliases: frozenset[int]
    statements: tuple[str, ...]
