"""Edits that are made in the text itself: most are a name, or a call on one line, and LibCST need not see these.

A statement takes this way with all of its edits or with none of them. What decides is whether LibCST could write
anything but this text: comments, line breaks and parentheses inside of what changes are left to it.
"""

from __future__ import annotations

import ast
import dataclasses
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.source import Source, child_nodes
from chainer2torch.plan.edits import (
    AddDecorator,
    AddKeyword,
    AddParameter,
    BaseLast,
    Comment,
    IntoFor,
    RemoveBase,
    Rename,
    Replace,
    ReplaceStatement,
    Span,
    StatementEdit,
    Unmark,
    Unwrap,
    Wrap,
)
from chainer2torch.rewrite.edit_places import Edit
from chainer2torch.rewrite.text_expressions import ByLibCST, Writer, with_texts
from chainer2torch.rewrite.torch_names import Names

_WHOLE = ("body", "whole", "item")  # branches of Unwrap
# what a statement can get, and what stands below it stays where it is
_IN_PLACE = (AddDecorator, AddParameter, BaseLast, Comment, RemoveBase, Rename, Unmark)


@dataclasses.dataclass
class Patches:
    """New texts for places of a source, in order and none inside of another; ``edits`` are those that are left."""

    source: Source
    edits: Sequence[Edit]
    spans: list[Span] = dataclasses.field(default_factory=list)
    texts: list[str] = dataclasses.field(default_factory=list)

    def between(self, start: int, stop: int) -> tuple[int, int]:
        """The numbers of the places in a part of the source: the first, and the one behind the last."""
        return bisect_left(self.spans, (start, 0)), bisect_left(self.spans, (stop, 0))

    def inside(self, start: int, stop: int) -> bool:
        """Whether a place lies in a part of the source."""
        first, behind = self.between(start, stop)
        return first < behind

    def text(self, start: int, stop: int) -> str:
        """A part of the source, with the new texts in it."""
        first, behind = self.between(start, stop)
        if first == behind:
            return self.source.text[start:stop]
        return with_texts(self.source.text, start, stop, self.spans[first:behind], self.texts[first:behind])


def patches(source: Source, edits: Sequence[Edit], names: Names) -> Patches:
    """The edits of a file that can be made in the text, made."""
    walk = _Walk(source, edits, names)
    if walk.points:
        walk.suite(source.tree.body, outermost=True)
    made = walk.made
    return Patches(source, [e for e in edits if id(e) not in made], walk.spans, walk.texts)


class _Walk:
    """Goes to the statements that have edits."""

    def __init__(self, source: Source, edits: Sequence[Edit], names: Names):
        self.source, self.names = source, names
        self.spans: list[Span] = []
        self.texts: list[str] = []
        self.made: set[int] = set()
        # the edits of expressions by their places, and where something is that only LibCST can do
        self.by_span: dict[Span, list[Replace | Wrap | AddKeyword]] = {}
        barred: set[int] = set()
        self.moved: set[int] = set()
        self.unwrapped: set[int] = set()
        for edit in edits:
            if isinstance(edit, StatementEdit):
                barred.add(edit.start)
                if isinstance(edit, (IntoFor, ReplaceStatement, Unwrap)):
                    barred.update(o.span[0] for o in edit.operands.values() if o.span is not None)
                if isinstance(edit, Unwrap) and edit.branch in _WHOLE:
                    self.unwrapped.add(edit.start)
                elif not isinstance(edit, _IN_PLACE):
                    self.moved.add(edit.start)
            else:
                self.by_span.setdefault(edit.span, []).append(edit)
                if not isinstance(edit, AddKeyword):
                    barred.update(_outside(edit))
        self.barred = sorted(barred)
        self.points = sorted(self.by_span)
        # a name above an import has to do with where new imports can stand
        head = [n for n in source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom, ast.Try))]
        self.head = source.start(head[-1]) if head else 0

    def suite(self, body: Sequence[ast.stmt], outermost: bool = False) -> None:
        """The statements of a suite and those below them."""
        source, points = self.source, self.points
        for node in body:
            decorators = getattr(node, "decorator_list", None)
            start, stop = source.start(decorators[0] if decorators else node), source.span(node)[1]
            at = bisect_left(points, (start, 0))
            if at == len(points) or points[at][0] >= stop:
                continue
            if outermost and start < self.head and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if not hasattr(node, "body"):
                if not isinstance(node, (ast.Match, ast.Import, ast.ImportFrom)):
                    self.expressions(node, [node], start, stop)
                continue
            orelse: Sequence[ast.stmt] = getattr(node, "orelse", ())
            if source.start(node) in self.moved or orelse and source.start(node) in self.unwrapped:
                continue  # some of it may go
            parts = child_nodes(node)
            self.expressions(node, [p for p in parts if not isinstance(p, _BLOCKS)], start, source.start(node.body[0]))
            self.suite(node.body)
            for handler in getattr(node, "handlers", ()):
                if handler.type is not None:
                    self.expressions(node, [handler.type], source.start(handler), source.start(handler.body[0]))
                self.suite(handler.body)
            self.suite(orelse)
            self.suite(getattr(node, "finalbody", ()))

    def expressions(self, statement: ast.stmt, parts: Sequence[ast.AST], start: int, stop: int) -> None:
        """Makes the edits of a simple statement or of the head of another one, if it is possible."""
        first, behind = bisect_left(self.points, (start, 0)), bisect_left(self.points, (stop, 0))
        if first == behind:
            return
        at = bisect_left(self.barred, start)
        if at < len(self.barred) and self.barred[at] < stop:
            return
        needed = dict(self.names.needed)
        line, line_start = self.source.line_at(start)
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        writer = Writer(self.source, self.names, self.by_span, self.points[first:behind], start, indent)
        try:
            for part in parts:
                writer.visit(part, None)
            writer.finish(statement)
        except ByLibCST:
            self.names.needed.clear()
            self.names.needed.update(needed)
            return
        self.spans += writer.spans
        self.texts += writer.texts
        self.made.update(id(edit) for span in self.points[first:behind] for edit in self.by_span[span])


_BLOCKS = (ast.stmt, ast.ExceptHandler)


def _outside(edit: Replace | Wrap) -> Iterator[int]:
    """Where operands of an edit stand that are no part of what it changes; where the edit is, if there are some."""
    operands = [*edit.operands.values()]
    if isinstance(edit, Replace):
        operands += [*edit.extra, *(operand for _, operand in edit.extra_keywords)]
    start, stop = edit.span
    outside = [o.span[0] for o in operands if o.span is not None and not (start <= o.span[0] and o.span[1] <= stop)]
    if outside:
        yield from (start, *outside)


__all__ = ["Patches", "patches"]
