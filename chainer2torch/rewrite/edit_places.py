"""Where the edits of a file are, and which of its functions and classes can be rewritten by themselves."""

from __future__ import annotations

import ast
import dataclasses
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from chainer2torch.analysis.source import Source
from chainer2torch.plan.edits import (
    AddKeyword,
    IntoFor,
    RemoveImport,
    Replace,
    ReplaceStatement,
    Span,
    StatementEdit,
    Unwrap,
    Wrap,
)

Edit = Replace | Wrap | AddKeyword | StatementEdit


@dataclasses.dataclass(frozen=True)
class Places:
    """The expressions and statements that edits name, in the order of the source."""

    source: Source
    edits: Sequence[Edit]
    spans: Sequence[Span]
    starts: Sequence[int]
    moved: Sequence[int]  # compound statements whose body gets another indentation

    @classmethod
    def of(cls, source: Source, edits: Sequence[Edit]) -> Places:
        """The places of all edits of a file."""
        return cls(
            source,
            edits,
            sorted({span for edit in edits for span in _spans(edit)}),
            sorted({e.start for e in edits if isinstance(e, StatementEdit)}),
            sorted(e.start for e in edits if isinstance(e, (IntoFor, Unwrap))),
        )

    @property
    def points(self) -> set[int]:
        """Where something is, expression or statement."""
        return {*self.starts, *(start for start, _ in self.spans)}

    def within(self, start: int, stop: int) -> Places:
        """What lies in a part of the source."""
        first, last = bisect_left(self.spans, (start, 0)), bisect_left(self.spans, (stop, 0))
        return Places(
            self.source,
            (),
            self.spans[first:last],
            _between(self.starts, start, stop),
            _between(self.moved, start, stop),
        )

    def apart(self) -> list[ast.stmt]:
        """The functions and classes with edits inside that have to do with no other statement of the module.

        Not those that an edit moves or puts a comment above, and no class above the first import of Chainer: new
        imports are to stand above a class that needs them (functions run later).
        """
        body = self.source.tree.body
        begins = [self.source.start((getattr(node, "decorator_list", None) or [node])[0]) for node in body]
        tied: set[int] = set()
        imported = -1
        for edit in self.edits:
            own = [edit.start] if isinstance(edit, StatementEdit) else []
            held = {bisect_right(begins, offset) - 1 for offset in [*own, *(start for start, _ in _spans(edit))]}
            if len(held) > 1 or any(self.source.start(body[i]) in own for i in held):
                tied |= held
            if isinstance(edit, RemoveImport) and any(isinstance(body[i], (ast.Import, ast.ImportFrom)) for i in held):
                imported = edit.start if imported < 0 else min(imported, edit.start)
        return [
            node
            for i, node in enumerate(body)
            if i not in tied
            and (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                or isinstance(node, ast.ClassDef)
                and begins[i] > imported
            )
        ]


def _between(numbers: Sequence[int], start: int, stop: int) -> Sequence[int]:
    return numbers[bisect_left(numbers, start) : bisect_left(numbers, stop)]


def _spans(edit: Edit) -> list[Span]:
    """The expressions that an edit needs."""
    operands: Iterable[Any] = ()
    if isinstance(edit, Replace):
        operands = [*edit.operands.values(), *edit.extra, *(o for _, o in edit.extra_keywords)]
    elif isinstance(edit, (IntoFor, ReplaceStatement, Unwrap, Wrap)):
        operands = edit.operands.values()
    own = [edit.span] if isinstance(edit, (Replace, Wrap, AddKeyword)) else []
    return [*own, *(o.span for o in operands if o.span is not None)]
