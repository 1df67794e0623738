"""Finds the LibCST nodes that a plan names by their offsets, in one run of LibCST's own code generation."""
from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from chainer2torch.plan.edits import Span

_STATEMENTS = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
# `ast` counts the parentheses of these as part of the node, LibCST as something around it.
_WITH_PARENTHESES = frozenset({cst.Tuple, cst.GeneratorExp})


class Located:
    """The nodes that were asked for, in both directions."""

    def __init__(self) -> None:
        self.expressions: dict[cst.CSTNode, Span] = {}
        self.statements: dict[cst.CSTNode, int] = {}
        # these nodes and everything that holds one of them: where a rewriting pass has to go
        self.paths: set[cst.CSTNode] = set()


class _Mark(AbstractContextManager[None]):
    __slots__ = ("state", "node", "start")

    def __init__(self, state: _Recorder, node: cst.CSTNode):
        self.state, self.node, self.start = state, node, 0

    def __enter__(self) -> None:
        self.start = self.state.offset

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        self.state.found(self.node, self.start)


class _Recorder(CodegenState):
    """A code generator that counts characters instead of keeping them."""

    def __init__(self, module: cst.Module, spans: Collection[Span], starts: Collection[int]):
        super().__init__(module.default_indent, module.default_newline)
        self.offset = 0
        self.spans, self.starts = spans, starts
        self.located = Located()
        self._open: list[int] = []
        self._stack: list[cst.CSTNode] = []

    def add_token(self, value: str) -> None:
        self.offset += len(value)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.offset += len(token)

    def pop_trailing_newline(self) -> None:
        pass

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._stack.append(node)
        if type(node) in _WITH_PARENTHESES:
            self._open.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if type(node) in _WITH_PARENTHESES:
            span = self._open.pop(), self.offset
            if span in self.spans:
                self.located.expressions[node] = span
                self.located.paths.update(self._stack)
        self._stack.pop()

    def record_syntactic_position(self, node: cst.CSTNode, **_: Any) -> _Mark:  # type: ignore[override]
        return _Mark(self, node)

    def found(self, node: cst.CSTNode, start: int) -> None:
        if (start, self.offset) in self.spans and isinstance(node, cst.BaseExpression) \
                and type(node) not in _WITH_PARENTHESES:
            self.located.expressions[node] = (start, self.offset)
            self.located.paths.update(self._stack)
        elif start in self.starts and isinstance(node, _STATEMENTS):
            self.located.statements[node] = start
            self.located.paths.update(self._stack)


def locate(module: cst.Module, spans: Collection[Span], starts: Collection[int]) -> Located:
    """The expression nodes with these spans and the statement nodes with these starts."""
    state = _Recorder(module, spans, starts)
    state._stack.append(module)
    module._codegen(state)
    return state.located
